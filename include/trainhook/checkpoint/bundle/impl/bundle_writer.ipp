// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/bundle/bundle_writer.hpp>

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/bundle_protocol.hpp>
#include <trainhook/checkpoint/bundle/device_read.hpp>
#include <trainhook/core/coding.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/tables.hpp>
#include <trainhook/io/whole_file.hpp>

namespace trainhook {

BundleWriter::BundleWriter(std::string prefix, BundleWriterOptions options)
    : prefix_(std::move(prefix)),
      options_(std::move(options)),
      file_system_(detail::given_or_posix(options_.file_system)),
      directory_(parent_path(prefix_)),
      temporary_suffix_(options_.part.suffix.empty() ? detail::bundle_temporary_suffix() : options_.part.suffix) {
  const std::string_view base = base_name(prefix_);
  if (base.empty() || base.find_first_of("*?[]\\") != std::string_view::npos) {
    throw InvalidArgumentError("checkpoint prefix {} must end in a name without any of * ? [ ] \\", prefix_);
  }
  file_system_.make_directories(directory_);
  if (commits()) {
    const std::optional<detail::BundleIndex> old = detail::find_bundle_index(file_system_, prefix_);
    if (old && !old->suffix.empty()) detail::complete_replacement(file_system_, prefix_, old->suffix);
    refuse_existing();
  }
  or_abandon([&] {
    for (std::uint32_t other = 1; commits() && other < options_.part.count; ++other)
      temporaries_.push_back(temporary_shard(other));
    begin_shard(options_.part.number);
  });
}

void BundleWriter::add(const std::string& name, const Tensor& tensor) {
  check_name(name);
  store(name, name, tensor);
}

void BundleWriter::add(const std::string& name, DType dtype, const Shape& shape, std::span<const std::byte> elements) {
  check_bytes(name, {.dtype = dtype, .shape = shape, .bytes = elements});
  check_name(name);
  store(name, dtype, shape, [&] { return append(0, elements); });
}

void BundleWriter::add_slice(const std::string& name, const Shape& full_shape, const TensorSlice& slice,
                             const Tensor& tensor) {
  store_slice(name, full_shape, slice, tensor.dtype(), tensor.shape(),
              [&](const std::string& key) { store(name, key, tensor); });
}

void BundleWriter::add_slice(const std::string& name, const Shape& full_shape, const TensorSlice& slice,
                             const StateMemory& elements) {
  check_bytes(name, elements);
  store_slice(name, full_shape, slice, elements.dtype, elements.shape, [&](const std::string& key) {
    store(key, elements.dtype, elements.shape, [&] { return append(0, elements.bytes); });
  });
}

void BundleWriter::store_slice(const std::string& name, const Shape& full_shape, const TensorSlice& slice, DType dtype,
                               const Shape& shape, FunctionRef<void(const std::string& key)> write) {
  expect_open();
  check_name(name);
  const auto refuse = [&](std::string_view problem) {
    throw InvalidArgumentError("slice {} of tensor {}{} of checkpoint {} {}", slice, name, full_shape, prefix_,
                               problem);
  };
  try {
    static_cast<void>(slice.within(full_shape));
  } catch (const InvalidArgumentError& error) { refuse(fmt::format("cannot be stored: {}", error.what())); }
  if (slice.shape_in(full_shape) != shape)
    refuse(fmt::format("has shape {}, not {}", slice.shape_in(full_shape), shape));
  if (shape == full_shape) return write(name);
  if (shape.num_elements() == 0) refuse("has no elements; store such a tensor whole");
  const auto found = entries_.find(name);
  if (found != entries_.end()) {
    const BundleEntry& entry = found->second;
    if (entry.slices.empty()) refuse("comes after all of the tensor");
    if (entry.dtype != dtype || entry.shape != full_shape) {
      refuse(fmt::format("is of {}; slices before it were of {}{}", dtype, entry.dtype, entry.shape));
    }
    for (const TensorSlice& other : entry.slices) {
      if (detail::intersection(slice.within(full_shape), other.within(full_shape)))
        refuse(fmt::format("overlaps slice {}", other));
    }
  }
  write(detail::slice_key(name, slice));
  BundleEntry& entry = entries_[name];
  entry.dtype = dtype;
  entry.shape = full_shape;
  entry.slices.push_back(slice);
}

void BundleWriter::add_side_file(const std::string& suffix, std::string_view contents) {
  expect_open();
  if (suffix.empty() || suffix == ".index" || suffix.starts_with(".data-") || suffix.find('/') != std::string::npos) {
    throw InvalidArgumentError("side file suffix \"{}\" of checkpoint {} is not a free one", suffix, prefix_);
  }
  if (!side_files_.insert(suffix).second)
    throw InvalidArgumentError("side file {}{} was added before", prefix_, suffix);
  or_abandon([&] { write_temporary(prefix_ + suffix, contents); });
}

void BundleWriter::finish() {
  expect_open();
  expect_complete();
  or_abandon([&] { commit(); });
  state_ = State::Finished;
}

std::string BundleWriter::finish_part() {
  expect_open();
  if (commits()) throw FailedPreconditionError("checkpoint {}: this writer commits it; call finish()", prefix_);
  return or_abandon([&] {
    finish_shard();
    state_ = State::Written;
    return build_index(options_.part.count);
  });
}

void BundleWriter::add_part(std::uint32_t number, std::string_view index) {
  expect_open();
  if (!commits() || number != shards_ || number >= options_.part.count) {
    throw InvalidArgumentError("checkpoint {}: part {} cannot be added; the writer of part 0 takes the others in order",
                               prefix_, number);
  }
  const std::string path = temporary_shard(number);
  if (!detail::read_from_device([&] { return file_system_.exists(path); })) {
    throw FailedPreconditionError(
        "checkpoint {}: the file of part {} is not there; all machines of the job must share the directory {}", prefix_,
        number, directory_);
  }
  const std::string what = fmt::format("{} (part {})", prefix_, number);
  const detail::TableReader table(std::string(index), what);
  table.for_each([&](std::string_view key, std::string_view value) {
    if (key.empty()) return;
    BundleEntry entry = detail::decode_bundle_entry(value, key, options_.part.count, what);
    if (entry.slices.empty() && entry.shard_id != number)
      throw DataLossError("{} says that tensor {} is in part {}", what, key, entry.shard_id);
    add_entry(std::string(key), entry);
  });
  ++shards_;
}

void BundleWriter::add_entry(const std::string& key, const BundleEntry& entry) {
  const auto [place, is_new] = entries_.try_emplace(key, entry);
  if (is_new) return;
  BundleEntry& known = place->second;
  if (entry.slices.empty() || known.slices.empty() || entry.dtype != known.dtype || entry.shape != known.shape)
    throw InvalidArgumentError("tensor {} is in two parts of checkpoint {}", key, prefix_);
  known.slices.insert(known.slices.end(), entry.slices.begin(), entry.slices.end());
}

void BundleWriter::expect_open() const {
  if (state_ == State::Finished || state_ == State::Written)
    throw FailedPreconditionError("checkpoint {} is finished; nothing can be added", prefix_);
  if (state_ == State::Abandoned)
    throw FailedPreconditionError("writing checkpoint {} failed before; make another writer", prefix_);
}

void BundleWriter::check_name(const std::string& name) const {
  if (name.empty() || name.front() == '\0') {
    throw InvalidArgumentError("a tensor of checkpoint {} needs a name, and one that does not begin with NUL", prefix_);
  }
}

void BundleWriter::check_bytes(const std::string& name, const StateMemory& elements) const {
  const auto& [dtype, shape, bytes] = elements;
  const std::size_t size = dtype_size(dtype);
  if (size != 0 && bytes.size() % size == 0 && bytes.size() / size == static_cast<std::uint64_t>(shape.num_elements()))
    return;
  throw InvalidArgumentError("tensor {} of checkpoint {}: {} bytes are not {}{}", name, prefix_, bytes.size(), dtype,
                             shape);
}

void BundleWriter::expect_complete() const {
  if (options_.part.count > 1 && shards_ != options_.part.count) {
    throw FailedPreconditionError("{} of the {} parts of checkpoint {} are there; add the others before finish()",
                                  shards_, options_.part.count, prefix_);
  }
  for (const auto& [name, entry] : entries_) {
    if (entry.slices.empty()) continue;
    std::int64_t stored = 0;
    for (const TensorSlice& slice : entry.slices) stored += slice.shape_in(entry.shape).num_elements();
    if (stored == entry.shape.num_elements()) continue;
    if (options_.may_have_gaps) {
      log_warning("checkpoint {} has {} of the {} elements of tensor {}{}: whoever needs another one cannot restore it",
                  prefix_, stored, entry.shape.num_elements(), name, entry.shape);
      continue;
    }
    throw FailedPreconditionError(
        "the {} slices of tensor {}{} of checkpoint {} hold {} of its {} elements; add the others before finish()",
        entry.slices.size(), name, entry.shape, prefix_, stored, entry.shape.num_elements());
  }
}

void BundleWriter::refuse_existing() {
  const std::string index = detail::bundle_index_path(prefix_);
  replaces_ = file_system_.exists(index);
  if (replaces_ && !options_.overwrite) {
    throw AlreadyExistsError("checkpoint {} exists; choose another prefix, or set BundleWriterOptions::overwrite",
                             prefix_);
  }
}

std::unique_ptr<WritableFile> BundleWriter::create_temporary(const std::string& path) {
  std::unique_ptr<WritableFile> file = file_system_.create_writable(path, WriteMode::Exclusive);
  temporaries_.push_back(path);
  return file;
}

std::string BundleWriter::temporary_shard(std::uint32_t shard) const {
  return detail::temporary_data_path(prefix_, shard, temporary_suffix_);
}

void BundleWriter::begin_shard(std::uint32_t number) {
  own_shard_ = number;
  data_ = create_temporary(temporary_shard(number));
  ++shards_;
  const std::uint64_t left = options_.expected_bytes - (std::min)(options_.expected_bytes, full_bytes_);
  const std::uint64_t here = options_.shard_bytes > 0 ? (std::min)(left, options_.shard_bytes) : left;
  if (here > 0) data_->reserve(here);
}

void BundleWriter::finish_shard() {
  flush();
  data_->sync();
  data_->close();
  full_bytes_ += std::exchange(offset_, 0);
}

void BundleWriter::store(const std::string& what, const std::string& key, const Tensor& tensor) {
  if (tensor.dtype() == DType::String) {
    store(key, DType::String, tensor.shape(), [&] { return append_strings(tensor.data<std::string>()); });
  } else if (tensor.has_value()) {
    store(key, tensor.dtype(), tensor.shape(), [&] { return append(0, tensor.bytes()); });
  } else {
    throw InvalidArgumentError("tensor {} of checkpoint {} has no value to save", what, prefix_);
  }
}

std::uint32_t BundleWriter::append_strings(std::span<const std::string> strings) {
  std::string lengths;
  std::uint32_t crc = 0;
  for (const std::string& text : strings) {
    detail::append_varint(lengths, text.size());
    crc = detail::extend_over_length(crc, text.size());
  }
  append(0, std::as_bytes(std::span(lengths)));
  std::string checksum;
  detail::append_fixed(checksum, crc32c::mask(crc));
  crc = append(crc, std::as_bytes(std::span(checksum)));
  for (const std::string& text : strings) crc = append(crc, std::as_bytes(std::span(text)));
  return crc;
}

std::uint32_t BundleWriter::append(std::uint32_t crc, std::span<const std::byte> bytes) {
  offset_ += bytes.size();
  if (bytes.size() >= detail::kBundleChunk / 4) flush();
  while (!bytes.empty()) {
    const std::span<const std::byte> chunk = bytes.first((std::min)(bytes.size(), detail::kBundleChunk));
    crc = crc32c::extend(crc, chunk);
    if (chunk.size() >= detail::kBundleChunk / 4) {
      flush();
      data_->append(chunk);
    } else {
      if (gathered_.size() + chunk.size() > detail::kBundleChunk) flush();
      gathered_.insert(gathered_.end(), chunk.begin(), chunk.end());
    }
    bytes = bytes.subspan(chunk.size());
  }
  return crc;
}

void BundleWriter::flush() {
  if (gathered_.empty()) return;
  data_->append(gathered_);
  gathered_.clear();
}

std::string BundleWriter::build_index(std::uint32_t shards) const {
  detail::TableWriter table;
  table.add("", detail::encode_bundle_header(shards));
  for (const auto& [name, entry] : entries_) table.add(name, detail::encode_bundle_entry(entry));
  return table.finish();
}

void BundleWriter::write_temporary(const std::string& final_path, std::string_view contents) {
  const std::unique_ptr<WritableFile> file = create_temporary(final_path + temporary_suffix_);
  file->append(contents);
  file->sync();
  file->close();
}

void BundleWriter::rename(const std::string& temporary, const std::string& final_path) {
  file_system_.rename(temporary, final_path);
  renamed_.push_back(final_path);
}

void BundleWriter::commit() {
  const std::string index_path = detail::bundle_index_path(prefix_);
  finish_shard();
  write_temporary(index_path, build_index(shards_));
  file_system_.sync_directory(directory_);
  refuse_existing();  // another process may have been faster
  if (replaces_) {
    detail::begin_replacement(file_system_, prefix_, temporary_suffix_);
    detail::complete_replacement(file_system_, prefix_, temporary_suffix_);
    return;
  }
  for (std::uint32_t shard = 0; shard < shards_; ++shard)
    rename(temporary_shard(shard), detail::bundle_data_path(prefix_, shard, shards_));
  for (const std::string& suffix : side_files_) rename(prefix_ + suffix + temporary_suffix_, prefix_ + suffix);
  file_system_.sync_directory(directory_);
  rename(index_path + temporary_suffix_, index_path);
  file_system_.sync_directory(directory_);
}

void BundleWriter::abandon() noexcept {
  if ((state_ != State::Open && state_ != State::Written) || !process_.is_here()) return;
  state_ = State::Abandoned;
  data_.reset();
  try {
    if (replaces_ && file_system_.exists(detail::replaced_index_path(prefix_, temporary_suffix_))) {
      detail::complete_replacement(file_system_, prefix_, temporary_suffix_);
      return;
    }
    const std::string index_path = detail::bundle_index_path(prefix_);
    if (!renamed_.empty() && renamed_.back() == index_path) {
      file_system_.rename(index_path, index_path + temporary_suffix_);
      renamed_.pop_back();
      file_system_.sync_directory(directory_);
    }
    for (const std::string& path : renamed_) file_system_.remove_file(path);
    if (!renamed_.empty()) file_system_.sync_directory(directory_);
  } catch (...) {  // what is left says by its names how to go on: see bundle_protocol.hpp
    return;
  }
  for (const std::string& path : temporaries_) detail::remove_silently(file_system_, path);
}

}  // namespace trainhook
