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

#include <trainhook/checkpoint/sharded_save.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

class FileSystem;

}  // namespace trainhook

namespace trainhook::detail {

/// One for each rank. Every rank knows of the same checkpoints, from the chief's order to write until its order to hand
/// over what was written. A checkpoint whose commit has failed before is dropped then, and the files are removed.
class RankShards {
 public:
  explicit RankShards(int rank) : rank_(rank) {}

  [[nodiscard]] bool are_awaited() const noexcept { return !shards_.empty(); }
  [[nodiscard]] TRAINHOOK_DECL bool is_writing() const;

  /// Of every rank: writes its part, or begins to. Errors are for `give`.
  TRAINHOOK_DECL void begin(const ShardedSave& save, SessionRef session, FileSystem& file_system);

  /// Of every rank: hands over all parts, less those that the order drops. Waits until they are written.
  [[nodiscard]] TRAINHOOK_DECL std::string give(std::string_view order);

  /// Of the chief: who gets the parts of the save that begins, for as long as it lives.
  TRAINHOOK_DECL void expect(const std::shared_ptr<PartsOfOthers>& parts);

  /// Of the chief: the order for `give`, and what all ranks have given. @throws DataLossError for bytes that no rank
  /// gives.
  [[nodiscard]] TRAINHOOK_DECL std::string order();
  TRAINHOOK_DECL void take(const std::vector<std::string>& given);

  /// Nothing more can be handed over. Who waits for parts gets the error.
  TRAINHOOK_DECL void cancel(const std::exception_ptr& error) noexcept;

 private:
  int rank_;
  std::map<std::string, std::unique_ptr<ShardOfRank>, std::less<>> shards_;  // by suffix; null: none of this rank
  std::map<std::string, std::weak_ptr<PartsOfOthers>> expected_;             // the same of the chief
  std::vector<std::shared_ptr<PartsOfOthers>> ordered_;                      // those that are not dropped
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/rank_shards.ipp>
#endif
