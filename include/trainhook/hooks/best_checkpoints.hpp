// SPDX-License-Identifier: Apache-2.0
/// @file
/// BestCheckpoints: the folder of a BestCheckpointHook.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/hooks/best_checkpoint_options.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook::detail {

/// Keeps the best checkpoints in a directory that it locks. Each holds its value as one more tensor. Its own are those
/// that the state file lists, and those of a process that was killed before it could list them, of which a file says so
/// (see bundle_protocol.hpp); others, such as copies made by hand, are left alone. A save commits the new checkpoint,
/// then writes the state file, then removes the one that is no longer kept; a process that is killed in between leaves
/// the rest to the next one.
class BestCheckpoints {
 public:
  /// Locks the directory, finishes what a process that was killed had begun, and reads what is there.
  /// @param model the hook that saves the model, whose companions save here, too; null: there is none
  /// @throws InvalidArgumentError if that hook saves into the same directory.
  TRAINHOOK_DECL BestCheckpoints(BestCheckpointOptions options, HookServices& services, const Graph& graph,
                                 std::shared_ptr<CheckpointClaim> model);

  /// Best first.
  [[nodiscard]] const std::vector<BestCheckpoint>& best() const noexcept { return best_; }

  /// True if a value at `step` belongs to the best.
  [[nodiscard]] TRAINHOOK_DECL bool is_wanted(std::int64_t step, double value) const;

  /// For a session that has not run since it was restored: gives it the input's position, which the first run would.
  TRAINHOOK_DECL void restore_input(SessionRef session, std::int64_t step) const;

  /// Saves the session as the checkpoint of `step`, and returns its prefix.
  TRAINHOOK_DECL std::string save(SessionRef session, std::int64_t step, double value);

  /// Keeps the directory, as a saver hook does: call it after each run.
  void keep_directory(SessionRunContext& context) const { claim_->keep_directory(context); }

 private:
  [[nodiscard]] TRAINHOOK_DECL bool ranks_before(const BestCheckpoint& a, const BestCheckpoint& b) const noexcept;
  [[nodiscard]] TRAINHOOK_DECL std::vector<BestCheckpoint> read();
  // Basenames with step of what this hook saved, by the state file and by records of saves that did not end, which it
  // notes for removal.
  [[nodiscard]] TRAINHOOK_DECL std::set<std::string> own_names();
  [[nodiscard]] TRAINHOOK_DECL std::string value_name() const;
  TRAINHOOK_DECL void settle(std::vector<BestCheckpoint> all);
  TRAINHOOK_DECL void list(const std::vector<std::string>& prefixes) const;

  BestCheckpointOptions options_;
  HookServices* services_;
  std::shared_ptr<CheckpointClaim> model_;  // held: its companions belong to the input
  std::shared_ptr<CheckpointClaim> claim_;
  Saver saver_;
  std::vector<BestCheckpoint> best_;
  std::vector<std::string> records_;  // of begun saves and removals: to be removed when the state file is written
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/best_checkpoints.ipp>
#endif
