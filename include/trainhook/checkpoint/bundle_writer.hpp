// SPDX-License-Identifier: Apache-2.0
/// @file
/// BundleWriter: writes a checkpoint that TensorFlow reads, and that exists wholly and durably or not at all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/checkpoint/slice_key.hpp>
#include <trainhook/checkpoint/tensor_bundle_format.hpp>
#include <trainhook/checkpoint/tensor_slice.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/table_writer.hpp>
#include <trainhook/io/whole_file.hpp>

namespace trainhook {

struct BundleWriterOptions {
  FileSystem* file_system = nullptr;  ///< null: the machine's own. Must outlive the writer.

  /// Replaces a checkpoint of the same prefix instead of refusing. From the moment the old one makes room until the new one is committed
  /// there is none of this prefix: better is a prefix that was never used.
  bool overwrite = false;

  /// A data file (shard) that has this many bytes gets no further tensor: the next one begins another file. 0: one file holds all.
  std::uint64_t shard_bytes = 0;
};

/// Writes one checkpoint. Tensors go straight from their buffers to a temporary file while `add` runs; `finish` commits.
/// A writer that is destroyed before that, or whose `add` or `finish` threw, leaves nothing behind. For one thread at a time.
class BundleWriter {
 public:
  /// `prefix` is the path without `.index`; its directory is created where it is missing.
  /// @throws InvalidArgumentError for a name that TensorFlow could not find again, AlreadyExistsError where there is such a checkpoint.
  explicit BundleWriter(std::string prefix, BundleWriterOptions options = {})
      : prefix_(std::move(prefix)),
        options_(options),
        file_system_(options.file_system != nullptr ? *options.file_system : posix_file_system()),
        directory_(parent_path(prefix_)),
        temporary_suffix_(str_cat(".tempstate", detail::random_number())) {
    const std::string_view base = base_name(prefix_);
    if (base.empty() || base.find_first_of("*?[]\\") != std::string_view::npos) {
      throw InvalidArgumentError("checkpoint prefix ", prefix_, " must end in a name without any of * ? [ ] \\");
    }
    file_system_.make_directories(directory_);
    refuse_existing();
    begin_shard();
  }

  BundleWriter(const BundleWriter&) = delete;
  BundleWriter& operator=(const BundleWriter&) = delete;
  ~BundleWriter() { abandon(); }

  [[nodiscard]] const std::string& prefix() const noexcept { return prefix_; }

  /// Bytes of tensors taken so far.
  [[nodiscard]] std::uint64_t bytes_added() const noexcept { return full_bytes_ + offset_; }

  /// Stores the tensor. Names may come in any order; for the bytes that TensorFlow's Saver would write, sort them.
  /// @throws InvalidArgumentError for an empty name, one that begins with a NUL, one that was used, or a Tensor without a value.
  void add(const std::string& name, const Tensor& tensor) {
    check_name(name);
    store(name, name, tensor);
  }

  /// The same for elements that lie, row-major, in somebody else's memory, which must not change meanwhile.
  void add(const std::string& name, DType dtype, const Shape& shape, std::span<const std::byte> elements) {
    if (dtype_size(dtype) == 0 || elements.size() / dtype_size(dtype) != static_cast<std::uint64_t>(shape.num_elements()) ||
        elements.size() % dtype_size(dtype) != 0) {
      throw InvalidArgumentError("tensor ", name, ": ", elements.size(), " bytes are not ", dtype_name(dtype), shape);
    }
    check_name(name);
    store(name, dtype, shape, [&] { return append(0, elements); });
  }

  /// Stores one slice of a partitioned variable, which has `full_shape` in all. Readers join the slices, or take any region of them;
  /// TensorFlow joins only some dtypes (not half, uint16, uint32, uint64 and string). One slice that is all of it is stored as a tensor.
  /// @throws InvalidArgumentError where the slice is none of such a variable, overlaps one added before, or has another shape than
  /// `tensor`.
  void add_slice(const std::string& name, const Shape& full_shape, const TensorSlice& slice, const Tensor& tensor) {
    expect_open();
    check_name(name);
    const auto refuse = [&](const auto&... problem) {
      throw InvalidArgumentError("slice ", slice, " of tensor ", name, full_shape, " of checkpoint ", prefix_, " ", problem...);
    };
    try {
      static_cast<void>(slice.within(full_shape));
    } catch (const InvalidArgumentError& error) { refuse("cannot be stored: ", error.what()); }
    if (slice.shape_in(full_shape) != tensor.shape()) refuse("has shape ", slice.shape_in(full_shape), ", not ", tensor.shape());
    if (tensor.shape() == full_shape) return add(name, tensor);
    if (tensor.num_elements() == 0) refuse("has no elements; store such a tensor whole");
    const auto found = entries_.find(name);
    if (found != entries_.end()) {
      const BundleEntry& entry = found->second;
      if (entry.slices.empty()) refuse("comes after all of the tensor");
      if (entry.dtype != tensor.dtype() || entry.shape != full_shape) {
        refuse("is of ", dtype_name(tensor.dtype()), "; slices before it were of ", dtype_name(entry.dtype), entry.shape);
      }
      for (const TensorSlice& other : entry.slices) {
        if (detail::intersection(slice.within(full_shape), other.within(full_shape))) refuse("overlaps slice ", other);
      }
    }
    store(str_cat(name, " slice ", slice), detail::slice_key(name, slice), tensor);
    BundleEntry& entry = entries_[name];
    entry.dtype = tensor.dtype();
    entry.shape = full_shape;
    entry.slices.push_back(slice);
  }

  /// Stores a file beside the bundle, for example `.meta`, that is committed together with it.
  void add_side_file(const std::string& suffix, std::string contents) {
    expect_open();
    if (suffix.empty() || suffix == ".index" || suffix.starts_with(".data-") || suffix.find('/') != std::string::npos) {
      throw InvalidArgumentError("side file suffix \"", suffix, "\" of checkpoint ", prefix_, " is not a free one");
    }
    if (!side_files_.emplace(suffix, std::move(contents)).second) {
      throw InvalidArgumentError("side file ", prefix_, suffix, " was added before");
    }
  }

  /// Commits: when this returns, the checkpoint is durable. When it throws, there is none (where `overwrite` was needed, nor the old one
  /// if that had made room already).
  /// @throws FailedPreconditionError where slices of a partitioned variable are missing; the writer stays open for them.
  void finish() {
    expect_open();
    expect_all_slices();
    try {
      commit();
    } catch (...) {
      abandon();
      throw;
    }
    state_ = State::Finished;
  }

 private:
  enum class State { Open, Finished, Abandoned };

  void expect_open() const {
    if (state_ == State::Finished) throw FailedPreconditionError("checkpoint ", prefix_, " is finished; nothing can be added");
    if (state_ == State::Abandoned) throw FailedPreconditionError("writing checkpoint ", prefix_, " failed before; make another writer");
  }

  void check_name(const std::string& name) const {
    if (name.empty() || name.front() == '\0') {
      throw InvalidArgumentError("a tensor of checkpoint ", prefix_, " needs a name, and one that does not begin with NUL");
    }
  }

  void expect_all_slices() const {
    for (const auto& [name, entry] : entries_) {
      if (entry.slices.empty()) continue;
      std::int64_t stored = 0;
      for (const TensorSlice& slice : entry.slices) stored += slice.shape_in(entry.shape).num_elements();
      if (stored == entry.shape.num_elements()) continue;
      throw FailedPreconditionError("the ", entry.slices.size(), " slices of tensor ", name, entry.shape, " of checkpoint ", prefix_,
                                    " hold ", stored, " of its ", entry.shape.num_elements(), " elements; add the others before finish()");
    }
  }

  void refuse_existing() {
    const std::string index = detail::bundle_index_path(prefix_);
    replaces_ = file_system_.exists(index);
    if (replaces_ && !options_.overwrite) {
      throw AlreadyExistsError("checkpoint ", prefix_, " exists; choose another prefix, or set BundleWriterOptions::overwrite");
    }
  }

  [[nodiscard]] std::unique_ptr<WritableFile> create_temporary(const std::string& final_path) {
    const std::string path = final_path + temporary_suffix_;
    std::unique_ptr<WritableFile> file = file_system_.create_writable(path, WriteMode::Exclusive);
    temporaries_.push_back(path);
    return file;
  }

  // How many there will be is not known yet, and of no account in a temporary name.
  [[nodiscard]] std::string temporary_shard(std::uint32_t shard) const { return detail::bundle_data_path(prefix_, shard, shard + 1); }

  void begin_shard() { data_ = create_temporary(temporary_shard(shards_++)); }

  void finish_shard() {
    flush();
    data_->sync();
    data_->close();
    full_bytes_ += std::exchange(offset_, 0);
  }

  /// `what` names it in errors.
  void store(const std::string& what, const std::string& key, const Tensor& tensor) {
    if (tensor.dtype() == DType::String) {
      store(key, DType::String, tensor.shape(), [&] { return append_strings(tensor.data<std::string>()); });
    } else if (tensor.has_value()) {
      store(key, tensor.dtype(), tensor.shape(), [&] { return append(0, tensor.bytes()); });
    } else {
      throw InvalidArgumentError("tensor ", what, " of checkpoint ", prefix_, " has no value to save");
    }
  }

  /// Runs `write`, which returns the checksum, and notes the entry.
  template <class Write>
  void store(const std::string& key, DType dtype, const Shape& shape, Write&& write) {
    expect_open();
    const auto [place, is_new] = entries_.try_emplace(key);
    if (!is_new) throw InvalidArgumentError("tensor ", key, " was added to checkpoint ", prefix_, " before");
    try {
      if (options_.shard_bytes > 0 && offset_ >= options_.shard_bytes) {
        finish_shard();
        begin_shard();
      }
      BundleEntry& entry = place->second;
      entry.shard_id = shards_ - 1;
      entry.dtype = dtype;
      entry.shape = shape;
      entry.offset = offset_;
      entry.crc32c = crc32c::mask(write());
      entry.size = offset_ - entry.offset;
    } catch (...) {
      abandon();
      throw;
    }
  }

  std::uint32_t append_strings(std::span<const std::string> strings) {
    std::string lengths;
    std::uint32_t crc = 0;
    for (const std::string& text : strings) {
      detail::append_varint(lengths, text.size());
      crc = detail::extend_over_length(crc, text.size());
    }
    append(0, std::as_bytes(std::span(lengths)));
    std::string checksum;
    detail::append_fixed32(checksum, crc32c::mask(crc));
    crc = append(crc, std::as_bytes(std::span(checksum)));
    for (const std::string& text : strings) crc = append(crc, std::as_bytes(std::span(text)));
    return crc;
  }

  /// Writes the bytes and returns the checksum continued over them. Small pieces are gathered, large ones go out from where they lie.
  std::uint32_t append(std::uint32_t crc, std::span<const std::byte> bytes) {
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

  void flush() {
    if (gathered_.empty()) return;
    data_->append(gathered_);
    gathered_.clear();
  }

  [[nodiscard]] std::string build_index() const {
    TableWriter table;
    table.add("", detail::encode_bundle_header(shards_));
    for (const auto& [name, entry] : entries_) table.add(name, detail::encode_bundle_entry(entry));
    return table.finish();
  }

  void write_temporary(const std::string& final_path, std::string_view contents) {
    const std::unique_ptr<WritableFile> file = create_temporary(final_path);
    file->append(contents);
    file->sync();
    file->close();
  }

  void rename_to(const std::string& final_path) { rename_to(final_path, final_path); }
  void rename_to(const std::string& final_path, const std::string& created_for) {
    file_system_.rename(created_for + temporary_suffix_, final_path);
    renamed_.push_back(final_path);
  }

  /// The order is what makes it safe: nothing gets its final name before its bytes are on the disk, and the index, which makes the
  /// checkpoint exist, comes after everything that it speaks of is durable.
  void commit() {
    const std::string index_path = detail::bundle_index_path(prefix_);
    finish_shard();
    for (const auto& [suffix, contents] : side_files_) write_temporary(prefix_ + suffix, contents);
    write_temporary(index_path, build_index());
    refuse_existing();  // somebody may have been faster
    if (replaces_) {
      file_system_.remove_file(index_path);
      file_system_.sync_directory(directory_);
    }
    for (std::uint32_t shard = 0; shard < shards_; ++shard) {
      rename_to(detail::bundle_data_path(prefix_, shard, shards_), temporary_shard(shard));
    }
    for (const auto& [suffix, contents] : side_files_) rename_to(prefix_ + suffix);
    file_system_.sync_directory(directory_);
    rename_to(index_path);
    file_system_.sync_directory(directory_);
  }

  /// Removes whatever this writer made, the index first so that no half of a checkpoint shows.
  void abandon() noexcept {
    if (state_ != State::Open) return;
    state_ = State::Abandoned;
    data_.reset();
    try {
      for (auto path = renamed_.rbegin(); path != renamed_.rend(); ++path) file_system_.remove_file(*path);
    } catch (...) {  // then what is left stays whole: an index whose data is gone would be worse
    }
    for (const std::string& path : temporaries_) detail::remove_silently(file_system_, path);
  }

  std::string prefix_;
  BundleWriterOptions options_;
  FileSystem& file_system_;
  std::string directory_;
  std::string temporary_suffix_;
  State state_ = State::Open;
  bool replaces_ = false;
  std::vector<std::string> temporaries_;  // may have been renamed since
  std::vector<std::string> renamed_;
  std::unique_ptr<WritableFile> data_;
  std::vector<std::byte> gathered_;
  std::uint32_t shards_ = 0;      // begun so far
  std::uint64_t full_bytes_ = 0;  // in those before the last
  std::uint64_t offset_ = 0;      // in the last
  std::map<std::string, BundleEntry> entries_;
  std::map<std::string, std::string> side_files_;
};

}  // namespace trainhook
