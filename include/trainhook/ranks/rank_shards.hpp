// SPDX-License-Identifier: Apache-2.0
/// @file
/// RankShards: the checkpoints that the ranks of a job are writing together.
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/ranks/sharded_save.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

class FileSystem;

}  // namespace trainhook

namespace trainhook::detail {

/// One per rank. Every rank knows the same checkpoints, from the chief's order to write until its order to hand over
/// the parts. A checkpoint whose commit has failed is then dropped, and its files are removed.
class RankShards {
 public:
  explicit RankShards(int rank) : rank_(rank) {}

  [[nodiscard]] bool are_awaited() const noexcept { return !shards_.empty(); }
  [[nodiscard]] TRAINHOOK_DECL bool is_writing() const;

  /// On every rank: writes this rank's part, or starts to. `give` throws errors.
  TRAINHOOK_DECL void begin(const ShardedSave& save, SessionRef session, FileSystem& file_system);

  /// On every rank: waits until all parts are written and returns them, except those that the order drops.
  [[nodiscard]] TRAINHOOK_DECL std::string give(std::string_view order);

  /// On the chief: sets the receiver of the parts of the save that starts, while it exists.
  TRAINHOOK_DECL void await_parts(const std::shared_ptr<PartsOfOthers>& parts);

  /// On the chief: the order for `give`, and the results of all ranks. @throws DataLossError for invalid bytes.
  [[nodiscard]] TRAINHOOK_DECL std::string order();
  TRAINHOOK_DECL void take(const std::vector<std::string>& given);

  /// No more parts can be handed over: receivers that wait get the error.
  TRAINHOOK_DECL void cancel(const std::exception_ptr& error) noexcept;

 private:
  int rank_;
  std::map<std::string, std::unique_ptr<ShardOfRank>, std::less<>> shards_;  // by suffix; null: this rank has no part
  std::map<std::string, std::weak_ptr<PartsOfOthers>> expected_;             // by suffix, on the chief
  std::vector<std::shared_ptr<PartsOfOthers>> ordered_;                      // those of the order, not dropped
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/ranks/impl/rank_shards.ipp>
#endif
