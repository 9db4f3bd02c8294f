// SPDX-License-Identifier: Apache-2.0
/// @file
/// BundleWriter: writes a checkpoint that TensorFlow can read. It is committed as a whole or does not exist.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/checkpoint/bundle/tensor_bundle_format.hpp>
#include <trainhook/checkpoint/bundle/tensor_slice.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/process_mark.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/io/crc32c.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook {

namespace detail {

/// One part of a checkpoint that several processes write, each its data file in the same directory.
struct BundlePart {
  std::string suffix{};      ///< the ending of the temporary names of all parts; empty: a new one, for one part
  std::uint32_t number = 0;  ///< number 0 commits the checkpoint with all parts
  std::uint32_t count = 1;
  bool may_have_gaps = false;  ///< other parts have regions of tensors, and some elements may be in no part
};

}  // namespace detail

struct BundleWriterOptions {
  FileSystem* file_system = nullptr;  ///< null: the disk. Must outlive the writer.

  /// Replaces an existing checkpoint instead of throwing. At any moment, also after a crash, a `BundleReader` finds the
  /// old one or the new one. TensorFlow may find none for a moment, so prefer a new prefix.
  bool overwrite = false;

  /// Once a data file (shard) has this many bytes, the next tensor starts another one. 0: a single file.
  std::uint64_t shard_bytes = 0;

  /// A lower bound of the bytes of all tensors. This disk space is reserved before the first write, if the file system
  /// can do that, so that a full disk is an error at once.
  std::uint64_t expected_bytes = 0;

  /// Slices of a tensor may lack some of its elements: a warning instead of an error.
  bool may_have_gaps = false;

  /// The part of this writer, if several processes write the checkpoint; each writes one data file.
  detail::BundlePart part{};
};

/// Writes one checkpoint. `add` writes tensors directly from their buffers to a temporary file; `finish` commits. A
/// writer that is destroyed before `finish`, or whose `add` or `finish` throws, leaves nothing behind. Not thread-safe.
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

  /// Stores a tensor. Names may come in any order; sort them to get the same bytes as TensorFlow's Saver.
  /// @throws InvalidArgumentError for a name that is empty, starts with NUL or was used before, or a Tensor without a
  /// value.
  TRAINHOOK_DECL void add(const std::string& name, const Tensor& tensor);

  /// The same for row-major elements in other memory, which must not change during the call.
  TRAINHOOK_DECL void add(const std::string& name, DType dtype, const Shape& shape,
                          std::span<const std::byte> elements);

  /// Stores one slice of a partitioned variable of shape `full_shape`. Readers join the slices or read any region;
  /// TensorFlow does not join half, uint16, uint32, uint64 and string. A slice of the full shape is stored as an
  /// ordinary tensor.
  /// @throws InvalidArgumentError if the slice does not fit `full_shape`, overlaps one added before, or differs in
  /// shape from `tensor`.
  TRAINHOOK_DECL void add_slice(const std::string& name, const Shape& full_shape, const TensorSlice& slice,
                                const Tensor& tensor);

  /// The same for row-major elements in other memory, which must not change during the call.
  TRAINHOOK_DECL void add_slice(const std::string& name, const Shape& full_shape, const TensorSlice& slice,
                                const StateMemory& elements);

  /// Writes a file, for example `.meta`, that is committed together with the bundle.
  TRAINHOOK_DECL void add_side_file(const std::string& suffix, std::string_view contents);

  /// Commits the checkpoint: it is durable when this returns. If it throws, there is no checkpoint or, with
  /// `overwrite`, the old one or the new one.
  /// @throws FailedPreconditionError if slices of a partitioned variable are missing, unless `may_have_gaps`; they can
  /// still be added.
  TRAINHOOK_DECL void finish();

  /// For a part other than number 0, instead of `finish`: its data is durable when this returns. Returns the bytes for
  /// `add_part` of number 0. The destructor removes the data file unless `release` was called.
  [[nodiscard]] TRAINHOOK_DECL std::string finish_part();
  void release() noexcept { state_ = State::Finished; }

  /// For part number 0, before `finish`, once for each other part in order: adds the result of its `finish_part`. If
  /// number 0 fails, it also removes the other parts' files.
  /// @throws DataLossError for damaged bytes, InvalidArgumentError for a name that another part has too,
  /// FailedPreconditionError if the part's file is not in the directory.
  TRAINHOOK_DECL void add_part(std::uint32_t number, std::string_view index);

 private:
  enum class State { Open, Written, Finished, Abandoned };

  /// What fails in `act` ends this writer.
  template <class Act>
  auto or_abandon(const Act& act) try {
    return act();
  } catch (...) {
    abandon();
    throw;
  }

  [[nodiscard]] bool commits() const noexcept { return options_.part.number == 0; }
  TRAINHOOK_DECL void expect_open() const;
  TRAINHOOK_DECL void check_name(const std::string& name) const;
  TRAINHOOK_DECL void expect_complete() const;
  TRAINHOOK_DECL void add_entry(const std::string& key, const BundleEntry& entry);
  TRAINHOOK_DECL void refuse_existing();
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<WritableFile> create_temporary(const std::string& path);
  [[nodiscard]] TRAINHOOK_DECL std::string temporary_shard(std::uint32_t shard) const;

  TRAINHOOK_DECL void begin_shard(std::uint32_t number);
  TRAINHOOK_DECL void finish_shard();

  /// @throws InvalidArgumentError unless the elements have as many bytes as their dtype and shape say.
  TRAINHOOK_DECL void check_bytes(const std::string& name, const StateMemory& elements) const;

  /// Checks a slice of `shape`, runs `write` with the key of its entry, and adds it to the entry of the tensor.
  TRAINHOOK_DECL void store_slice(const std::string& name, const Shape& full_shape, const TensorSlice& slice,
                                  DType dtype, const Shape& shape, FunctionRef<void(const std::string& key)> write);

  /// `what` names the tensor in errors.
  TRAINHOOK_DECL void store(const std::string& what, const std::string& key, const Tensor& tensor);

  /// Runs `write`, which returns the checksum, and adds the entry.
  template <class Write>
  void store(const std::string& key, DType dtype, const Shape& shape, Write&& write) {
    expect_open();
    const std::size_t before = entries_.size();
    const auto place = entries_.try_emplace(entries_.end(), key);  // keys mostly come in order
    if (entries_.size() == before)
      throw InvalidArgumentError("tensor {} was added to checkpoint {} before", key, prefix_);
    or_abandon([&] {
      if (options_.part.count == 1 && options_.shard_bytes > 0 && offset_ >= options_.shard_bytes) {
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
    });
  }

  TRAINHOOK_DECL std::uint32_t append_strings(std::span<const std::string> strings);

  /// Writes the bytes and returns the checksum extended over them. Small pieces are collected, large ones are written
  /// without a copy.
  TRAINHOOK_DECL std::uint32_t append(std::uint32_t crc, std::span<const std::byte> bytes);

  TRAINHOOK_DECL void flush();
  [[nodiscard]] TRAINHOOK_DECL std::string build_index(std::uint32_t shards) const;
  TRAINHOOK_DECL void write_temporary(const std::string& final_path, std::string_view contents);

  TRAINHOOK_DECL void rename(const std::string& temporary, const std::string& final_path);

  /// bundle_protocol.hpp explains the order of the steps.
  TRAINHOOK_DECL void commit();

  /// Removes everything this writer created, its temporary index last. If a replacement has begun, completes it
  /// instead. In a forked child the files are the parent's, and stay.
  TRAINHOOK_DECL void abandon() noexcept;

  detail::ProcessMark process_;
  std::string prefix_;
  BundleWriterOptions options_;
  FileSystem& file_system_;
  std::string directory_;
  std::string temporary_suffix_;
  State state_ = State::Open;
  bool replaces_ = false;
  std::vector<std::string> temporaries_;  // some may have been renamed; the index is last
  std::vector<std::string> renamed_;
  std::unique_ptr<WritableFile> data_;
  std::vector<std::byte> gathered_;
  std::uint32_t shards_ = 0;      // started so far, here and by other parts
  std::uint32_t own_shard_ = 0;   // the shard being written
  std::uint64_t full_bytes_ = 0;  // bytes in earlier shards
  std::uint64_t offset_ = 0;      // bytes in own_shard_
  std::map<std::string, BundleEntry, std::less<>> entries_;
  std::set<std::string> side_files_;  // by suffix
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/bundle/impl/bundle_writer.ipp>
#endif
