// SPDX-License-Identifier: Apache-2.0
/// @file
/// RankSessionCreator: creates the sessions of the ranks of a job with the values of the chief.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/monitored/chief_session_creator.hpp>
#include <trainhook/monitored/session_creator.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

class FileSystem;

}  // namespace trainhook

namespace trainhook::detail {

class RankRounds;
struct CheckpointClaim;

/// Rank 0 restores the newest checkpoint that is good for all ranks, or initializes. The others do not search for a
/// checkpoint: they check their own state in the one that rank 0 names, before it restores it, then read only their own
/// state and strings from it, by the same RestoreRules if there are any, and get the variables' values from rank 0. No
/// rank continues before all have their session, and none starts if the directory is not the same for all, or the width
/// of the engine's kernels.
class RankSessionCreator final : public SessionCreator {
 public:
  /// @param alone how a process alone would make its session; a checkpoint is restored from its `checkpoint_dir`
  TRAINHOOK_DECL RankSessionCreator(RankRounds& rounds, ChiefSessionCreator& alone);

  [[nodiscard]] TRAINHOOK_DECL OwnedSession create_session() override;
  [[nodiscard]] Graph& graph() override { return *graph_; }

 private:
  class RestoredByAll;
  class Token;

  TRAINHOOK_DECL void expect_shared_directory() const;
  TRAINHOOK_DECL void expect_same_kernels(SessionRef session) const;
  TRAINHOOK_DECL void share(SessionRef session) const;
  [[nodiscard]] TRAINHOOK_DECL OwnedSession create_as_chief();
  [[nodiscard]] TRAINHOOK_DECL OwnedSession create_as_other();
  [[nodiscard]] TRAINHOOK_DECL std::optional<std::string> why_damaged_for_others(const std::string& prefix) const;

  struct Restored {
    std::string prefix{};
    bool is_verified = false;  // by this rank
  };
  [[nodiscard]] TRAINHOOK_DECL Restored wait_for_restored();
  [[nodiscard]] TRAINHOOK_DECL std::string why_damaged(const std::string& prefix) const;
  TRAINHOOK_DECL void expect_readable(const std::string& prefix) const;
  [[nodiscard]] FileSystem& file_system() const { return *options_.file_system; }
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<CheckpointContents> contents_of(const CheckpointSource& checkpoint,
                                                                               FileSystem& disk) const;
  [[nodiscard]] TRAINHOOK_DECL std::optional<std::set<std::string, std::less<>>> names_if_new(
      const CheckpointSource& checkpoint) const;
  [[nodiscard]] TRAINHOOK_DECL bool begins_by_rules() const noexcept;
  [[nodiscard]] TRAINHOOK_DECL bool differs_between_ranks(const std::string& name,
                                                          const std::set<std::string, std::less<>>& of_ranks) const;
  TRAINHOOK_DECL void report_other_ranks(const std::string& prefix) const;

  // On the chief: the directories into which its hooks save the model. The others offer them to their
  // CheckpointInputPipelineHook, which looks there for the input of a checkpoint.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> saver_directories() const;
  TRAINHOOK_DECL void offer_savers(const std::vector<std::string>& directories);

  RankRounds& rounds_;
  Graph* graph_;
  SessionOpener open_;
  ChiefSessionCreatorOptions options_;
  std::vector<std::shared_ptr<CheckpointClaim>> savers_;  // the chief's, on the others
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/ranks/impl/rank_session_creator.ipp>
#endif
