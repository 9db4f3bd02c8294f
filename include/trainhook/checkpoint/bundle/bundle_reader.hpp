// SPDX-License-Identifier: Apache-2.0
/// @file
/// BundleReader: reads checkpoints of this library and TensorFlow, and verifies them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <trainhook/checkpoint/bundle/bundle_shards.hpp>
#include <trainhook/checkpoint/bundle/tensor_bundle_format.hpp>
#include <trainhook/checkpoint/bundle/tensor_slice.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook {

struct BundleReaderOptions {
  FileSystem* file_system = nullptr;  ///< null: the disk. Must outlive the reader.
  BundleFiles files = BundleFiles::Check;
};

/// An open checkpoint. The constructor checks everything except the tensors' checksums: the index and its checksums,
/// each entry, and that every shard exists and is long enough. A single shard is opened at once, several are opened at
/// their first use; open shards can be read even if the checkpoint is deleted meanwhile. Any number of threads may read
/// at once. A failed read is tried once more; if it fails again, it throws UnknownError, because an error of the device
/// does not mean that the checkpoint is damaged.
class BundleReader {
 public:
  /// The tensors by name.
  using Entries = std::map<std::string, BundleEntry, std::less<>>;

  /// `prefix` is the path without `.index`. Also reads a checkpoint whose replacement was interrupted.
  /// @throws NotFoundError if there is no such checkpoint, DataLossError, naming file and tensor, if it is
  /// damaged or incomplete.
  TRAINHOOK_DECL explicit BundleReader(std::string prefix, BundleReaderOptions options = {});

  [[nodiscard]] const std::string& prefix() const noexcept { return prefix_; }
  [[nodiscard]] const Entries& entries() const noexcept { return entries_; }
  [[nodiscard]] TRAINHOOK_DECL bool has_tensor(std::string_view name) const;

  /// The index entry of a tensor. @throws NotFoundError, which lists similar names.
  [[nodiscard]] TRAINHOOK_DECL const BundleEntry& entry(std::string_view name) const;

  /// Reads and verifies a tensor. The slices of a partitioned variable are joined.
  /// @throws NotFoundError if the tensor or one of its slices was not saved, DataLossError for a wrong checksum,
  /// UnimplementedError for a dtype that this library lacks.
  [[nodiscard]] TRAINHOOK_DECL Tensor get_tensor(std::string_view name) const;

  /// Reads a region of a tensor, however it was partitioned when saved. Reads only the slices that overlap the region;
  /// a tensor stored as a whole is read as a whole, to verify its checksum. @throws as above, and InvalidArgumentError
  /// for a region outside of the tensor.
  [[nodiscard]] TRAINHOOK_DECL Tensor get_tensor(std::string_view name, const TensorSlice& slice) const;

  /// Reads and verifies a region of a tensor as above into its elements `to`, row-major and not strings, and holds one
  /// stored slice at a time beside them. An empty `to` is only verified. @throws as above.
  TRAINHOOK_DECL void get_tensor(std::string_view name, const TensorSlice& slice, std::span<std::byte> to) const;

  /// Reads and verifies every tensor whose name starts with `beginning`, except those of dtypes that this library
  /// lacks. @throws as `get_tensor`.
  TRAINHOOK_DECL void(verify)(std::string_view beginning = {}) const;

 private:
  TRAINHOOK_DECL void read_index(FileSystem& file_system);
  TRAINHOOK_DECL void add_entry(std::string_view key, std::string_view value);

  /// Checks that all slices of a tensor exist and that no two share elements or bytes, so that the tensor is not larger
  /// than its files.
  TRAINHOOK_DECL void check_slices(std::string_view name, const BundleEntry& entry);

  [[nodiscard]] TRAINHOOK_DECL const BundleEntry& readable_entry(std::string_view name) const;

  /// Reads the tensor of one entry.
  [[nodiscard]] TRAINHOOK_DECL Tensor read(std::string_view name, const BundleEntry& entry) const;

  [[nodiscard]] TRAINHOOK_DECL Tensor read_slice(std::string_view name, const TensorSlice& slice) const;

  /// Assembles a region from the slices that overlap it.
  [[nodiscard]] TRAINHOOK_DECL Tensor join(std::string_view name, const BundleEntry& entry,
                                           const TensorSlice& wanted) const;

  /// Takes a piece of a tensor, its place in that, and the region that is wanted.
  using TakePiece = void(const Tensor& piece, const TensorSlice& place, const TensorSlice& region);

  /// Reads the slices that overlap a region, one after the other. @throws NotFoundError if they lack elements of it.
  TRAINHOOK_DECL void read_pieces(std::string_view name, const BundleEntry& entry, const TensorSlice& wanted,
                                  FunctionRef<TakePiece> take) const;

  TRAINHOOK_DECL static void copy(const Tensor& from, const TensorSlice& from_region, Tensor& to,
                                  const TensorSlice& to_region);
  [[nodiscard]] TRAINHOOK_DECL DataLossError damaged(std::string_view name, const BundleEntry& entry,
                                                     std::string_view problem) const;
  TRAINHOOK_DECL void expect_checksum(std::string_view name, const BundleEntry& entry, std::uint32_t crc) const;

  /// Fills `into` with the bytes of the entry and returns their checksum.
  TRAINHOOK_DECL std::uint32_t read_with_checksum(std::string_view name, const BundleEntry& entry,
                                                  std::span<std::byte> into) const;

  TRAINHOOK_DECL void read_strings(std::string_view name, const BundleEntry& entry,
                                   std::span<std::string> strings) const;

  std::string prefix_;
  std::string index_path_;
  std::uint32_t num_shards_ = 0;
  Entries entries_;
  Entries slices_;                                               // by slice key
  std::map<std::string, detail::Regions, std::less<>> regions_;  // of the slices of a tensor, by its name
  detail::BundleShardMap needed_;                                // while the index is read
  std::unique_ptr<detail::BundleShards> shards_;
};

/// TensorFlow's name of the class.
using CheckpointReader = BundleReader;

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/bundle/impl/bundle_reader.ipp>
#endif
