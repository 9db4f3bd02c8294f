// SPDX-License-Identifier: Apache-2.0
/// @file
/// BundleShards: the open data files of a checkpoint.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook {

/// When a BundleReader opens the data files of a checkpoint with several. A single one is opened at once.
enum class BundleFiles {
  Check,   ///< all must exist and be long enough; each is opened at its first use
  Hold,    ///< all are opened at once, so that the checkpoint can be read even if it is deleted meanwhile
  AsRead,  ///< nothing is known of a file before a tensor of it is read: for a part of a checkpoint that another reader
           ///< has checked
};

namespace detail {

/// What is known of one data file.
struct BundleShard {
  std::uint64_t needed = 0;              ///< the bytes that it must have
  std::unique_ptr<ReadableFile> file{};  ///< null until it is opened
};
using BundleShardMap = std::map<std::uint32_t, BundleShard>;

/// Opened files stay open. Thread-safe.
class BundleShards {
 public:
  struct Options {
    FileSystem* file_system = nullptr;
    std::string prefix{};
    std::string replacement{};  ///< the ending of files that an interrupted replacement has not renamed
    std::uint32_t count = 0;
    BundleFiles files = BundleFiles::Check;
  };

  /// @param shards the data files that the index has entries for, none of them open
  /// @throws DataLossError, naming the file, if a checked file is missing or too short.
  TRAINHOOK_DECL BundleShards(Options options, BundleShardMap shards);
  BundleShards(const BundleShards&) = delete;
  BundleShards& operator=(const BundleShards&) = delete;
  ~BundleShards() = default;

  /// Opens the file if necessary. The index must have an entry for it. @throws as the constructor.
  [[nodiscard]] TRAINHOOK_DECL const ReadableFile& at(std::uint32_t shard) const;

 private:
  [[nodiscard]] TRAINHOOK_DECL std::string path(std::uint32_t shard) const;
  TRAINHOOK_DECL void validate(std::uint32_t shard) const;
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<ReadableFile> open(std::uint32_t shard) const;
  TRAINHOOK_DECL void expect_size(std::uint32_t shard, const std::string& path, std::uint64_t size) const;

  Options options_;
  mutable std::mutex mutex_;  // for the pointers to files
  mutable BundleShardMap shards_;
};

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/bundle/impl/bundle_shards.ipp>
#endif
