// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointClaim: records which hook saves checkpoints into which directory, and what is saved with them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <trainhook/checkpoint/checkpoint_part.hpp>
#include <trainhook/checkpoint/directory_hold.hpp>
#include <trainhook/checkpoint/directory_lock.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook::detail {

class SessionServices;

/// Reserves a directory for one saver hook, from `begin` until its session ends, against other hooks and other
/// processes. `claim_checkpoints` offers it in the graph, so that other hooks may add parts, in their `begin`.
struct CheckpointClaim {
  std::string directory{};
  std::string basename{};
  std::string hook{};  ///< the type of the hook
  DirectoryLock directory_lock = DirectoryLock::Auto;
  bool save_graph_def = true;                ///< in files, if the session exports its graph
  bool tolerates_failures = false;           ///< of saves, so that they are only logged
  std::optional<std::int64_t> save_steps{};  ///< its period, if that is in steps and begins anew with each save
  std::vector<std::shared_ptr<CheckpointPart>> parts{};
  std::shared_ptr<DirectoryHold> hold{};  ///< null without a lock

  /// Call it after each run.
  void keep_directory(SessionRunContext& context) const {
    if (hold != nullptr) hold->keep(context);
  }

  /// Takes what each part gives, on the loop's thread; and confirms the directory before the first commit of a part,
  /// and before that of the model.
  [[nodiscard]] TRAINHOOK_DECL TakenParts take_parts(const SaveMoment& moment) const;

  /// Call it before each commit, on any thread. @throws FailedPreconditionError if another process has taken the
  /// directory over.
  void confirm_directory(std::int64_t global_step) const {
    if (hold != nullptr) hold->confirm(global_step);
  }
};

/// Creates the directory if it is missing, locks it until the session's end, and finishes interrupted saves of killed
/// processes there. Returns the lock, or null without one.
/// @throws FailedPreconditionError if another session or process has the directory, or no file there can replace
/// another one; InvalidArgumentError if `wanted.basename` is too long for the names of temporary files.
[[nodiscard]] TRAINHOOK_DECL std::shared_ptr<DirectoryHold> take_directory(SessionServices& services,
                                                                           const CheckpointClaim& wanted);

/// Claims the directory for one saver hook, creates it if it is missing, and finishes interrupted saves of killed
/// processes there.
/// @throws InvalidArgumentError, naming both hooks, if another hook of the graph has claimed it, because they would
/// overwrite each other's state file. Otherwise as `take_directory`.
[[nodiscard]] TRAINHOOK_DECL std::shared_ptr<CheckpointClaim> claim_checkpoints(Graph& graph, SessionServices& services,
                                                                                CheckpointClaim wanted);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/checkpoint_claim.ipp>
#endif
