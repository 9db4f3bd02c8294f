// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointClaim: records which hook saves checkpoints into which directory, and what is saved with them.
/// RestoreCondition: lets a hook exclude checkpoints from which the model must not be restored.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/checkpoint/directory_hold.hpp>
#include <trainhook/checkpoint/directory_lock.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

struct Snapshot;

}  // namespace trainhook

namespace trainhook::detail {

/// Offered in the graph: checks each candidate of a restore, newest first, for example whether the input pipeline's
/// position of that step is undamaged.
struct RestoreCondition {
  /// Returns why the checkpoint `prefix` must be skipped, or nothing. An error other than DataLossError ends the
  /// restore, so that no checkpoint is skipped because of a file that only could not be read.
  std::function<std::optional<std::string>(const std::string& prefix)> why_not{};

  /// Returns true for checkpoints in the directory that are not of a model, and so are no candidates. May be empty.
  std::function<bool(const std::string& prefix)> is_other{};
};

struct CheckpointClaim;
class SessionServices;

/// State in separate files that belong to the model's checkpoint of the same step.
class CheckpointCompanion {
 public:
  /// The two parts of a save, called on the thread that writes the model. Because of their order, a kill between them
  /// is harmless.
  struct Commit {
    std::function<void()> before_model{};  ///< writes the state; if it throws, the model is not saved
    std::function<void()> after_model{};   ///< cleans up after the model's commit; must not throw
  };

  TRAINHOOK_DECL virtual ~CheckpointCompanion();

  /// Takes the current state, on the thread that runs the session.
  /// @param inputs of the other processes of a job, by their numbers; empty if there are none, or if they are not known
  [[nodiscard]] virtual Commit take(SessionRef session, std::int64_t global_step,
                                    const std::vector<Snapshot>& inputs) = 0;

  /// Restores the state that belongs to the model of `global_step`, if the session was just restored and has not run.
  virtual void restore(SessionRef /*session*/, std::int64_t /*global_step*/, const std::string& /*restored_from*/) {}

  /// Cleans up as `after_model` does, at the end of a run that resumed at its last step and saved nothing.
  virtual void tidy(std::int64_t /*global_step*/) noexcept {}

  /// Cleans up after a killed writer, while no save is in progress.
  virtual void tidy_all() noexcept {}

  /// Whether `prefix` is one of this companion's files, by its name.
  [[nodiscard]] virtual bool is_mine(std::string_view /*prefix*/) const { return false; }

  /// Adds a companion to `other` that saves the same state with its checkpoints.
  virtual void join(const std::shared_ptr<CheckpointClaim>& /*other*/) const {}
};

/// Reserves a directory for one saver hook, from `begin` until its session ends, against other hooks and other
/// processes. `claim_checkpoints` offers it in the graph, so that other hooks may add companions.
struct CheckpointClaim {
  std::string directory{};
  std::string basename{};
  std::string hook{};  ///< the type of the hook
  DirectoryLock directory_lock = DirectoryLock::Auto;
  std::optional<std::int64_t> save_steps{};  ///< its period, if that is in steps and begins anew with each save
  std::vector<std::shared_ptr<CheckpointCompanion>> companions{};
  std::shared_ptr<DirectoryHold> hold{};  ///< null without a lock

  /// Call it after each run.
  void keep_directory(SessionRunContext& context) const {
    if (hold != nullptr) hold->keep(context);
  }

  /// What the companions of one save have taken.
  class Taken {
   public:
    void add(CheckpointCompanion::Commit commit) { commits_.push_back(std::move(commit)); }

    /// As each companion's.
    TRAINHOOK_DECL void before_model() const;
    TRAINHOOK_DECL void after_model() const;

   private:
    std::vector<CheckpointCompanion::Commit> commits_;
  };

  /// Takes the state of all companions, on the thread that runs the session; `inputs` as there.
  [[nodiscard]] TRAINHOOK_DECL Taken take_companions(SessionRef session, std::int64_t global_step,
                                                     const std::vector<Snapshot>& inputs) const;

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
