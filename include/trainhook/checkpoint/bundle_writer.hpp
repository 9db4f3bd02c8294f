// SPDX-License-Identifier: Apache-2.0
/// @file
/// BundleWriter: writes a checkpoint that TensorFlow can read. It is committed as a whole or does not exist.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/checkpoint/tensor_bundle_format.hpp>
#include <trainhook/checkpoint/tensor_slice.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/io/crc32c.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook {

/// One of the parts of a checkpoint that several processes write, each its own data file in the same directory.
struct BundlePart {
  std::string suffix{};      ///< the ending of the temporary names of all of them
  std::uint32_t number = 0;  ///< 0 commits the checkpoint, with what the others have written
  std::uint32_t count = 1;
};

struct BundleWriterOptions {
  FileSystem* file_system = nullptr;  ///< null: the disk. Must outlive the writer.

  /// Replaces a checkpoint of the same prefix instead of refusing. At each moment, also after a crash, a `BundleReader`
  /// finds the old one or the new one; TensorFlow may find none for a moment: prefer a prefix that was never used.
  bool overwrite = false;

  /// Once a data file (shard) has this many bytes, the next tensor begins another file. 0: one file holds all.
  std::uint64_t shard_bytes = 0;

  /// Bytes of tensors that will be added, or fewer. Disk space for them is reserved before the first is written, if the
  /// file system can do that, so that a full disk is an error at once.
  std::uint64_t expected_bytes = 0;

  /// Of a checkpoint of several writers, each of which has one data file then. Must outlive the writer.
  const BundlePart* part = nullptr;
};

/// Writes one checkpoint. Tensors go straight from their buffers to a temporary file while `add` runs; `finish`
/// commits. A writer that is destroyed before that, or whose `add` or `finish` threw, leaves nothing behind. For one
/// thread at a time.
class BundleWriter {
 public:
  /// `prefix` is the path without `.index`; its directory is created if it is missing.
  /// @throws InvalidArgumentError for a name that TensorFlow could not find, AlreadyExistsError if the checkpoint
  /// exists.
  TRAINHOOK_DECL explicit BundleWriter(std::string prefix, BundleWriterOptions options = {});

  BundleWriter(const BundleWriter&) = delete;
  BundleWriter& operator=(const BundleWriter&) = delete;
  ~BundleWriter() { abandon(); }

  [[nodiscard]] const std::string& prefix() const noexcept { return prefix_; }

  /// Bytes of tensors taken so far.
  [[nodiscard]] std::uint64_t bytes_added() const noexcept { return full_bytes_ + offset_; }

  /// Stores the tensor. Names may come in any order; for the bytes that TensorFlow's Saver would write, sort them.
  /// @throws InvalidArgumentError for an empty name, one that begins with a NUL, one that was used, or a Tensor without
  /// a value.
  TRAINHOOK_DECL void add(const std::string& name, const Tensor& tensor);

  /// The same for row-major elements in other memory, which must not change meanwhile.
  TRAINHOOK_DECL void add(const std::string& name, DType dtype, const Shape& shape,
                          std::span<const std::byte> elements);

  /// Stores one slice of a partitioned variable, which has `full_shape` in all. Readers join the slices, or take any
  /// region of them; TensorFlow joins only some dtypes (not half, uint16, uint32, uint64 and string). One slice that is
  /// all of it is stored as a tensor.
  /// @throws InvalidArgumentError if the slice does not fit `full_shape`, overlaps one added before, or differs in
  /// shape from `tensor`.
  TRAINHOOK_DECL void add_slice(const std::string& name, const Shape& full_shape, const TensorSlice& slice,
                                const Tensor& tensor);

  /// Stores a file beside the bundle, for example `.meta`, that is committed together with it.
  TRAINHOOK_DECL void add_side_file(const std::string& suffix, std::string contents);

  /// Commits: when this returns, the checkpoint is durable. When it throws, there is none; with `overwrite`, the old or
  /// the new one.
  /// @throws FailedPreconditionError if slices of a partitioned variable are missing; the writer stays open for
  /// them.
  TRAINHOOK_DECL void finish();

  /// For a part other than number 0, instead of `finish`: when this returns, its data is durable. Returns what number 0
  /// needs for the index. The data file is removed with this writer, unless `release` says that number 0 has it.
  [[nodiscard]] TRAINHOOK_DECL std::string finish_part();
  void release() noexcept { state_ = State::Finished; }

  /// For part number 0, before `finish`, for each of the others in their order: takes what their `finish_part` has
  /// returned. From its construction on, a number 0 that fails removes their files, too.
  /// @throws DataLossError for bytes that are damaged, InvalidArgumentError for a name that another part has, too,
  /// FailedPreconditionError if the file of the part is not in the directory.
  TRAINHOOK_DECL void add_part(std::uint32_t number, std::string_view index);

 private:
  enum class State { Open, Written, Finished, Abandoned };

  [[nodiscard]] bool commits() const noexcept { return options_.part == nullptr || options_.part->number == 0; }
  TRAINHOOK_DECL void expect_open() const;
  TRAINHOOK_DECL void check_name(const std::string& name) const;
  TRAINHOOK_DECL void expect_complete() const;
  TRAINHOOK_DECL void add_entry(const std::string& key, const BundleEntry& entry);
  TRAINHOOK_DECL void refuse_existing();
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<WritableFile> create_temporary(const std::string& final_path);

  // The final number of shards is unknown here; a temporary name does not need it.
  [[nodiscard]] TRAINHOOK_DECL std::string temporary_shard(std::uint32_t shard) const;

  TRAINHOOK_DECL void begin_shard(std::uint32_t number);
  TRAINHOOK_DECL void finish_shard();

  /// `what` names it in errors.
  TRAINHOOK_DECL void store(const std::string& what, const std::string& key, const Tensor& tensor);

  /// Runs `write`, which returns the checksum, and notes the entry.
  template <class Write>
  void store(const std::string& key, DType dtype, const Shape& shape, Write&& write) {
    expect_open();
    const std::size_t before = entries_.size();
    const auto place = entries_.try_emplace(entries_.end(), key);  // keys mostly come in order
    if (entries_.size() == before)
      throw InvalidArgumentError("tensor {} was added to checkpoint {} before", key, prefix_);
    try {
      if (options_.part == nullptr && options_.shard_bytes > 0 && offset_ >= options_.shard_bytes) {
        finish_shard();
        begin_shard(shards_);
      }
      BundleEntry& entry = place->second;
      entry.shard_id = own_shard_;
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

  TRAINHOOK_DECL std::uint32_t append_strings(std::span<const std::string> strings);

  /// Writes the bytes and returns the checksum continued over them. Small pieces are gathered, large ones are
  /// written without a copy.
  TRAINHOOK_DECL std::uint32_t append(std::uint32_t crc, std::span<const std::byte> bytes);

  TRAINHOOK_DECL void flush();
  [[nodiscard]] TRAINHOOK_DECL std::string build_index(std::uint32_t shards) const;
  TRAINHOOK_DECL void write_temporary(const std::string& final_path, std::string_view contents);

  void rename_to(const std::string& final_path) { rename_to(final_path, final_path); }
  TRAINHOOK_DECL void rename_to(const std::string& final_path, const std::string& created_for);

  /// The order is what makes it safe: see bundle_protocol.hpp.
  TRAINHOOK_DECL void commit();

  /// Removes whatever this writer made, its temporary index last. A replacement that has begun is completed instead.
  TRAINHOOK_DECL void abandon() noexcept;

  std::string prefix_;
  BundleWriterOptions options_;
  FileSystem& file_system_;
  std::string directory_;
  std::string temporary_suffix_;
  State state_ = State::Open;
  bool replaces_ = false;
  std::vector<std::string> temporaries_;  // may have been renamed since; the index is the last
  std::vector<std::string> renamed_;
  std::unique_ptr<WritableFile> data_;
  std::vector<std::byte> gathered_;
  std::uint32_t shards_ = 0;      // begun so far, here and by other parts
  std::uint32_t own_shard_ = 0;   // the one that is being written
  std::uint64_t full_bytes_ = 0;  // in those before it
  std::uint64_t offset_ = 0;      // in it
  std::map<std::string, BundleEntry> entries_;
  std::map<std::string, std::string> side_files_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/bundle_writer.ipp>
#endif
