// SPDX-License-Identifier: Apache-2.0
/// @file
/// BundleShards: the data files of a checkpoint that is read.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook {

/// When a BundleReader opens the data files of a checkpoint that has several. A single one is opened at once.
enum class BundleFiles {
  Check,   ///< all must be there and long enough; each is opened when a tensor of it is read for the first time
  Hold,    ///< all are opened at once, so that a checkpoint that is deleted meanwhile can still be read
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

/// Files that are open stay open. Any number of threads may ask at once.
class BundleShards {
 public:
  struct Options {
    FileSystem* file_system = nullptr;
    std::string prefix{};
    std::string replacement{};  ///< the ending of the names of files that an interrupted replacement has not renamed
    std::uint32_t count = 0;
    BundleFiles files = BundleFiles::Check;
  };

  /// @param shards those that the index has entries for; none of them is open
  /// @throws DataLossError, naming the file, if one that is looked at is missing or too short.
  TRAINHOOK_DECL BundleShards(Options options, BundleShardMap shards);
  BundleShards(const BundleShards&) = delete;
  BundleShards& operator=(const BundleShards&) = delete;
  ~BundleShards() = default;

  /// Opens the file if need be. The index must have an entry for it. @throws as the constructor.
  [[nodiscard]] TRAINHOOK_DECL const ReadableFile& at(std::uint32_t shard) const;

 private:
  [[nodiscard]] TRAINHOOK_DECL std::string path(std::uint32_t shard) const;
  TRAINHOOK_DECL void check(std::uint32_t shard) const;
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<ReadableFile> open(std::uint32_t shard) const;
  TRAINHOOK_DECL void expect_size(std::uint32_t shard, const std::string& path, std::uint64_t size) const;

  Options options_;
  mutable std::mutex mutex_;  // for the pointers to files
  mutable BundleShardMap shards_;
};

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/bundle_shards.ipp>
#endif
