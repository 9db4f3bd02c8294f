// SPDX-License-Identifier: Apache-2.0
/// @file
/// BestCheckpoints: the directory of a BestCheckpointHook.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/checkpoint/checkpoint_directory.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/hooks/saving/best_checkpoint_options.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook::detail {

/// Keeps the best checkpoints in a directory that it locks. Each contains its value as an additional tensor. It manages
/// those that the state file lists, and those that a killed process could not list, which a file marks (see
/// bundle_protocol.hpp); it leaves others, such as copies made by hand, alone: it neither removes them nor writes over
/// them. After a kill in a save, the next process does the rest.
class BestCheckpoints {
 public:
  /// Locks the directory, finishes interrupted saves of a killed process, and reads its checkpoints.
  /// @param model the hook that saves the model, whose parts save here too; null: none
  /// @throws InvalidArgumentError if that hook saves into the same directory.
  TRAINHOOK_DECL BestCheckpoints(BestCheckpointOptions options, SessionServices& services, SessionRef session,
                                 std::shared_ptr<CheckpointClaim> model);

  /// Best first.
  [[nodiscard]] const std::vector<BestCheckpoint>& best() const noexcept { return best_; }

  /// True if `value` at `step` is among the best.
  [[nodiscard]] TRAINHOOK_DECL bool is_wanted(std::int64_t step, double value) const;

  /// For a session that has not run since it was restored: restores the input's position, as the first run would.
  TRAINHOOK_DECL void restore_input(SessionRef session, std::int64_t step) const;

  /// Saves the session as the checkpoint of `step`, and returns its prefix.
  /// @throws FailedPreconditionError if the checkpoint of that step in the directory is somebody else's.
  TRAINHOOK_DECL std::string save(SessionRef session, std::int64_t step, double value, SaveCost& cost);

  /// Refreshes the hold on the directory, as a saver hook does; call it after each run.
  void keep_directory(SessionRunContext& context) const { claim_->keep_directory(context); }

 private:
  [[nodiscard]] TRAINHOOK_DECL bool precedes(const BestCheckpoint& a, const BestCheckpoint& b) const noexcept;
  [[nodiscard]] TRAINHOOK_DECL std::vector<BestCheckpoint> read();
  // The names of this hook's checkpoints: those that the state file lists, and those that a killed process marked.
  [[nodiscard]] TRAINHOOK_DECL std::set<std::string> own_names();
  [[nodiscard]] TRAINHOOK_DECL std::string value_name() const;
  TRAINHOOK_DECL void list_and_remove(std::vector<BestCheckpoint> all);

  BestCheckpointOptions options_;
  SessionServices* services_;
  std::shared_ptr<CheckpointClaim> model_;  // keeps its parts alive
  std::shared_ptr<CheckpointClaim> claim_;
  std::optional<CheckpointDirectory> directory_;
  Saver saver_;
  std::set<std::string> own_;  // the names of what it may replace; some are removed already
  std::vector<BestCheckpoint> best_;
  std::vector<BestCheckpoint> surplus_;  // to be removed
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/saving/impl/best_checkpoints.ipp>
#endif
