// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/text/row_file.hpp>

#include <charconv>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/finite.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/real_numbers.hpp>
#include <trainhook/core/utf8.hpp>
#include <trainhook/hooks/text/single_values.hpp>
#include <trainhook/io/crc32c.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/whole_file.hpp>

namespace trainhook::detail {

template <class T>
[[nodiscard]] std::string number_cell(T value, const RowFormat& format) {
  if constexpr (StoredFloat<T>) {
    return number_cell(to_float(value), format);
  } else {
    if constexpr (std::is_floating_point_v<T>) {
      if (!is_finite(value)) return format.non_finite(value);
    }
    return fmt::format("{}", value);
  }
}

std::string cell_of(const Tensor& tensor, const std::string& column, const RowFormat& format) {
  expect_single_value(format.hook, column, tensor.dtype(), tensor.shape(), Takes::NumbersAndTexts);
  if (tensor.dtype() == DType::String)
    return format.text(utf8_text(tensor.data<std::string>()[0], fmt::format("{}: '{}'", format.hook, column)));
  return visit_real(tensor, [&](auto values) { return number_cell(values[0], format); });
}

/// One record of a file.
struct RowRecord {
  std::size_t length = 0;              // with its newline; 0: it is incomplete
  std::optional<std::int64_t> step{};  // nothing: not a row
};

inline RowRecord first_record(std::string_view text, const RowFormat& format) {
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (format.has_quotes && text[i] == '"') is_quoted = !is_quoted;
    if (text[i] != '\n' || is_quoted) continue;
    RowRecord record{.length = i + 1};
    std::int64_t step = 0;
    if (!text.starts_with(format.start)) return record;
    const auto [end, error] = std::from_chars(text.data() + format.start.size(), text.data() + i, step);
    if (error == std::errc() && format.after_step.find(*end) != std::string_view::npos) record.step = step;
    return record;
  }
  return {};
}

RowFile::RowFile(FileSystem& file_system, std::string path, const std::vector<std::string>& columns,
                 const RowFormat& format, std::int64_t last_step, const std::optional<WrittenRows>& written)
    : file_system_(&file_system),
      format_(&format),
      path_(std::move(path)),
      header_(format.header != nullptr ? format.header(columns) : std::string()) {
  const PathTarget target = target_to_write(file_system, path_);
  if (target.kind == PathKind::Stream) {
    file_ = file_system.open_appendable(path_);
    write(header_);
    return;
  }
  const std::string text = lock_and_read(target.path);
  expect_written(text, written);
  const auto [kept, cut] = divide(text, last_step);
  if (cut > 0) {
    const bool has_own_rows = written && written->size > header_.size();  // a header alone may be another run's
    if (!has_own_rows) keep_copy(target.path, text);
    log_info("{}: cut {} rows off {}: they are of steps after {}, which the run repeats.", format.hook, cut, path_,
             last_step);
  }
  open(text, kept);
}

void RowFile::open(std::string_view text, std::size_t kept) {
  if (kept < text.size()) file_system_->truncate(path_, kept);
  file_ = file_system_->open_appendable(path_);
  written_ = WrittenRows{.size = kept, .crc = crc32c::value(text.substr(0, kept))};
  seen_size_ = kept;
  if (kept == 0) write(header_);
  durable_ = kept;
  synced_ = false;
  try {
    sync();
    file_system_->sync_directory(parent_path(file_system_->resolve(path_).path));
  } catch (const Error& error) { log_warning("{}: {}; the next checkpoint tries again", format_->hook, error.what()); }
}

bool RowFile::has_lost_rows() {
  if (!written_ || rewritten_) return false;  // a stream, or a file of which `repair` knows more
  try {
    const std::uint64_t size = file_system_->file_size(path_);
    return size < std::exchange(seen_size_, size);  // some file systems tell a size later, but none a smaller one
  } catch (const NotFoundError&) { return true; } catch (const Error&) {  // nobody knows
    return false;
  }
}

void RowFile::reopen_if_lost() {
  if (!has_lost_rows()) return;
  log_warning(
      "{}: {} was removed, emptied or cut during the run, and rows that were in it are gone; later rows follow what is "
      "there now",
      format_->hook, path_);
  file_.reset();
  lock_.reset();
  const std::string text = lock_and_read(target_to_write(*file_system_, path_).path);
  open(text, divide(text, (std::numeric_limits<std::int64_t>::max)()).first);
}

std::string RowFile::lock_and_read(const std::string& target) {
  file_system_->make_directories(parent_path(target));
  try {
    lock_ = file_system_->lock_file(path_);
  } catch (const UnimplementedError&) {  // then two writers are the user's to avoid
  } catch (const FailedPreconditionError&) {
    throw FailedPreconditionError(
        "{}: another hook, session or process writes rows to {}; give each its own path, and in a job give the hook "
        "to the chief only",
        format_->hook, path_);
  } catch (const PermissionDeniedError&) {
    const bool is_there = file_system_->exists(path_);
    throw PermissionDeniedError(
        "{}: {} {} cannot be written; check its owner and permissions, or give a path in another directory",
        format_->hook, is_there ? "the file" : "the directory", is_there ? path_ : parent_path(path_));
  }
  return file_system_->exists(path_) ? read_file(*file_system_, path_) : std::string();
}

void RowFile::expect_written(std::string_view text, const std::optional<WrittenRows>& written) const {
  if (!written || written->size == 0) return;
  if (text.empty()) {
    log_warning("{}: {} is gone or empty, so the rows up to here are lost; it is started again", format_->hook, path_);
  } else if (text.size() < written->size || crc32c::value(text.substr(0, written->size)) != written->crc) {
    refuse(fmt::format("the run that is resumed wrote its first {} bytes, and they are others now; rename or remove it",
                       written->size));
  }
}

std::pair<std::size_t, std::size_t> RowFile::divide(std::string_view text, std::int64_t last_step) {
  const std::string_view whole = text;
  const auto has_holes = [](std::string_view line) {  // bytes that never reached the disk
    return line.find('\0') != std::string_view::npos;
  };
  if (header_.starts_with(whole) || whole.find_first_not_of('\0') == std::string_view::npos)
    return {whole == header_ ? whole.size() : 0, 0};
  if (!text.starts_with(header_)) {
    refuse(fmt::format("its first line is not that of the columns, which are {}; rename or remove it",
                       std::string_view(header_).substr(0, header_.size() - 1)));
  }
  text.remove_prefix(header_.size());
  std::optional<std::size_t> kept;
  std::size_t cut = 0;
  while (!text.empty()) {
    const std::size_t at = whole.size() - text.size();
    const RowRecord record = first_record(text, *format_);
    const std::string_view line = text.substr(0, record.length == 0 ? text.size() : record.length);
    const bool is_torn = record.length == 0 && (line.starts_with(format_->start) || format_->start.starts_with(line));
    if (!record.step && !is_torn && !has_holes(line))
      refuse("it has a line that is no row of this hook; rename or remove it");
    const bool is_kept = !kept && record.step && *record.step <= last_step;
    if (is_kept) last_step_ = record.step;
    if (!is_kept && !kept) kept = at;
    if (!is_kept && record.step) ++cut;
    text.remove_prefix(line.size());
  }
  return {kept.value_or(whole.size()), cut};
}

void RowFile::keep_copy(const std::string& target, const std::string& text) const {
  std::unique_ptr<WritableFile> copy;
  for (int number = 1; copy == nullptr; ++number) {
    try {
      copy = file_system_->create_writable(fmt::format("{}.{}", target, number), WriteMode::Exclusive);
    } catch (const AlreadyExistsError&) {  // the next number
    }
  }
  try {
    copy->append(text);
    copy->sync();
    copy->close();
    file_system_->sync_directory(parent_path(target));  // before the rows are cut
  } catch (...) {
    remove_silently(*file_system_, copy->path());
    throw;
  }
  log_warning("{}: whether this run wrote the rows of {} is not known; {} keeps a copy", format_->hook, path_,
              copy->path());
}

void RowFile::refuse(std::string_view reason) const {
  throw FailedPreconditionError("{}: {} is left as it is, since {}, or give another path", format_->hook, path_,
                                reason);
}

void RowFile::prepare_repair() noexcept {
  try {
    const std::string text = read_file(*file_system_, path_);
    const bool is_ours = written_ && text.size() == written_->size && crc32c::value(text) == written_->crc;
    if (is_ours) rewritten_ = text.substr(static_cast<std::size_t>(durable_));
  } catch (...) {  // the file stays unusable, and the next call says so
  }
}

void RowFile::repair() {
  if (!rewritten_) return;
  file_.reset();
  file_system_->truncate(path_, durable_);
  file_ = file_system_->open_appendable(path_);
  file_->append(*rewritten_);
  rewritten_.reset();
}

void RowFile::write(const std::string& text) {
  repair();
  synced_ = false;
  file_->append(text);
  if (written_) written_ = {.size = written_->size + text.size(), .crc = crc32c::extend(written_->crc, text)};
}

void RowFile::append(std::int64_t step, const std::string& line) {
  reopen_if_lost();
  write(line);
  static_cast<void>(has_lost_rows());  // the size from now on
  last_step_ = step;
}

void RowFile::sync() {
  if (synced_) return;
  reopen_if_lost();
  repair();
  try {
    file_->sync();
  } catch (const Error&) {
    prepare_repair();
    throw;
  }
  durable_ = file_->size();
  synced_ = true;
}

void RowFile::close() {
  try {
    sync();
  } catch (const Error&) {
    if (!rewritten_) throw;
    sync();  // writes again what the first one lost
  }
  file_->close();
  lock_.reset();
}

}  // namespace trainhook::detail
