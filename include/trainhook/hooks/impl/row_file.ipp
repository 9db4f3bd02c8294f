// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of row_file.hpp.
#pragma once

#include <trainhook/hooks/row_file.hpp>

#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/finite.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/utf8.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/whole_file.hpp>

namespace trainhook::detail {

template <class T>
[[nodiscard]] std::string number_cell(const Tensor& tensor, const RowFormat& format) {
  const T value = tensor.data<T>()[0];
  if constexpr (std::is_floating_point_v<T>) {
    if (!is_finite(value)) return format.non_finite(value);
  }
  return fmt::format("{}", value);
}

TRAINHOOK_DECL std::string cell_of(const Tensor& tensor, const std::string& column, const RowFormat& format) {
  if (tensor.num_elements() != 1) {
    throw InvalidArgumentError("{}: '{}' has {} elements; a row holds one value of each, such as its mean", format.hook,
                               column, tensor.num_elements());
  }
  switch (tensor.dtype()) {
    case DType::Float: return number_cell<float>(tensor, format);
    case DType::Double: return number_cell<double>(tensor, format);
    case DType::Int32: return number_cell<std::int32_t>(tensor, format);
    case DType::Int64: return number_cell<std::int64_t>(tensor, format);
    case DType::Bool: return number_cell<bool>(tensor, format);
    case DType::String:
      return format.text(utf8_text(tensor.data<std::string>()[0], fmt::format("{}: '{}'", format.hook, column)));
    default:
      throw InvalidArgumentError("{}: '{}' is {}; a row holds float, double, int32, int64, bool and string",
                                 format.hook, column, tensor.dtype());
  }
}

TRAINHOOK_DECL RowFile::RowFile(FileSystem& file_system, std::string path, const std::vector<std::string>& columns,
                                const RowFormat& format, std::int64_t last_step)
    : path_(std::move(path)) {
  const std::string header = format.header != nullptr ? format.header(columns) : std::string();
  std::string kept = header;
  if (file_system.exists(path_)) kept = kept_part(read_file(file_system, path_), header, format, last_step);
  const std::string directory = parent_path(path_);
  file_system.make_directories(directory);
  const std::string temporary = fmt::format("{}.tmp", path_);
  file_ = file_system.create_writable(temporary, WriteMode::Truncate);
  file_->append(kept);
  file_->sync();
  file_system.rename(temporary, path_);
  file_system.sync_directory(directory);
}

TRAINHOOK_DECL std::string RowFile::kept_part(std::string_view text, const std::string& header, const RowFormat& format,
                                              std::int64_t last_step) {
  const bool same_header = text.starts_with(header);
  std::string kept = header;
  if (format.header != nullptr) text.remove_prefix(format.record(text).length);
  std::size_t cut = 0;
  while (!text.empty()) {
    const RowRecord record = format.record(text);
    if (record.length == 0) break;  // torn
    if (record.step && *record.step <= last_step) {
      kept += text.substr(0, record.length);
      last_step_ = record.step;
    } else {
      ++cut;
    }
    text.remove_prefix(record.length);
  }
  if (last_step_ && !same_header) {
    throw FailedPreconditionError(
        "{}: {} has rows with other columns; rename or remove it, or give another path (the columns are now {})",
        format.hook, path_, header.substr(0, header.size() - 1));
  }
  if (cut > 0) {
    log_info("{}: cut {} rows off {}: they are of steps after {}, which the run repeats.", format.hook, cut, path_,
             last_step);
  }
  return kept;
}

TRAINHOOK_DECL void RowFile::append(std::int64_t step, const std::string& line) {
  synced_ = false;
  file_->append(line);
  last_step_ = step;
}

TRAINHOOK_DECL void RowFile::sync() {
  if (synced_) return;
  file_->sync();
  synced_ = true;
}

TRAINHOOK_DECL void RowFile::close() {
  sync();
  file_->close();
}

}  // namespace trainhook::detail
