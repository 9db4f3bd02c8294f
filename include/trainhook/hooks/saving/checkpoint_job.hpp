// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointJob: the common part of CheckpointSaverHook and AsyncCheckpointSaverHook.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/hooks/saving/background_writer.hpp>
#include <trainhook/hooks/saving/checkpoint_saver_options.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_context.hpp>
#include <trainhook/session/second_or_step_timer.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook::detail {

/// The order of the first two parts of a save.
enum class SaveStart : bool { ListenersThenLog, LogThenListeners };

/// Saves the checkpoints of one hook: decides when a save is due, takes the state, and calls listeners. A save is
/// `begin_save`, the commit of what that returns, and `finish_save`. Call all but the commit on the loop's thread.
class CheckpointJob {
 public:
  /// @param hook the type of the hook, for messages
  /// @throws InvalidArgumentError for options that contradict each other.
  TRAINHOOK_DECL CheckpointJob(std::string_view hook, CheckpointSaverOptions options, SaveStart start);
  CheckpointJob(const CheckpointJob&) = delete;
  CheckpointJob& operator=(const CheckpointJob&) = delete;

  [[nodiscard]] std::string_view hook() const noexcept { return hook_; }
  [[nodiscard]] const std::string& directory() const noexcept { return directory_; }
  [[nodiscard]] SaveOverlap overlap() const noexcept { return options_.overlap; }
  [[nodiscard]] std::optional<std::int64_t> last_saved_step() const noexcept { return last_saved_; }
  [[nodiscard]] TRAINHOOK_DECL std::int64_t global_step(SessionRef session) const;

  /// Locks the directory and resets the state of the last session. `services` must outlive the session.
  TRAINHOOK_DECL void begin(Graph& graph, SessionServices& services);

  /// True if the session was restored from a checkpoint of this directory and basename, which then counts as saved. If
  /// the basename differs, the model is saved again before the first run, so its input is restored at once.
  /// @throws NotFoundError if the checkpoint is gone.
  [[nodiscard]] TRAINHOOK_DECL bool is_restored(SessionRef session);

  /// Writes the record of the run, and the graph if the session exports it, once per graph: a recovery does not change
  /// them.
  TRAINHOOK_DECL void describe(SessionRef session);

  [[nodiscard]] TRAINHOOK_DECL bool is_due(SessionRunContext& context) const;

  /// Refreshes the hold on the directory; call it after each run.
  void keep_directory(SessionRunContext& context) const { claim_->keep_directory(context); }

  /// Does the whole save on this thread. Returns true if a listener requests a stop.
  TRAINHOOK_DECL bool save_now(SessionRef session, std::int64_t step);

  enum class Commit { AtOnce, Later };

  /// Triggers the timer, calls the listeners' `before_save`, logs the save, and takes the state. Returns nothing after
  /// a failure that is tolerated, or if a hook or a part vetoes the save, which is then due again at the next step.
  /// @param when AtOnce: before the session runs again, since the save reads the model itself instead of a copy
  /// @throws the error of the save, unless it is tolerated; what a part's `veto` throws.
  [[nodiscard]] TRAINHOOK_DECL std::optional<Save> begin_save(SessionRef session, std::int64_t step, Commit when);

  /// Calls the listeners' `after_save` or, after a failure, `save_failed`. Returns true if one of them requests a stop.
  /// @throws the error of the save, unless it is tolerated; then it is logged.
  TRAINHOOK_DECL bool finish_save(SessionRef session, const Save& save);

  /// Calls the listeners' `save_failed` only, for a save that is never committed. Logs their exceptions.
  TRAINHOOK_DECL void tell_failure(SessionRef session, std::int64_t step, const std::exception_ptr& error);

  /// For the abort of a session: `finish_save`, but what is thrown is only logged. If the session was lost, the
  /// listeners hear nothing.
  TRAINHOOK_DECL void abort_save(const Save& save) noexcept;

  /// Whether a save that is being committed still needs the rest of a part, see CheckpointPart; and brings it.
  [[nodiscard]] TRAINHOOK_DECL bool is_incomplete() const noexcept;
  TRAINHOOK_DECL bool complete(std::optional<std::int64_t> step = std::nullopt);

  /// For a new session: true if a listener has requested a stop, at a step that the session has not gone back behind.
  [[nodiscard]] TRAINHOOK_DECL bool is_stopped_by_listener(SessionRef session);

  /// Saves the last step if it is not saved yet, calls the listeners' `end`, and unlocks the directory. Then throws the
  /// first error. A failure of this save is never tolerated.
  TRAINHOOK_DECL void end(SessionRef session);

  /// The loop has waited so long for a save, for `max_save_overhead`.
  TRAINHOOK_DECL void note_wait(Duration time) noexcept;

  /// Saves the last step if it is not saved yet, for a session that ends by an error. @throws the error of the save.
  TRAINHOOK_DECL void save_on_exception(SessionRef session);
  [[nodiscard]] bool saves_on_exception() const noexcept { return options_.save_on_exception; }

  /// Unlocks the directory. Logs how many saves were vetoed since the last checkpoint.
  TRAINHOOK_DECL void abort() noexcept;

 private:
  // Whether a save now would keep within `max_save_overhead`.
  [[nodiscard]] TRAINHOOK_DECL bool is_cheap(SessionRunContext& context) const;

  // The timer is not triggered by a veto, so the model is saved as soon as no hook vetoes.
  [[nodiscard]] TRAINHOOK_DECL bool is_vetoed(SaveMoment& moment);
  TRAINHOOK_DECL void announce(SessionRef session, std::int64_t step);
  [[nodiscard]] TRAINHOOK_DECL Save take(const SaveMoment& moment);
  TRAINHOOK_DECL void fail(SessionRef session, std::int64_t step, const std::exception_ptr& error);
  TRAINHOOK_DECL void note_commit(const Save& save);
  TRAINHOOK_DECL void log_commit(const Save& save);
  [[nodiscard]] TRAINHOOK_DECL std::string save_path() const;
  [[nodiscard]] TRAINHOOK_DECL const std::shared_ptr<Saver>& find_saver(const Graph& graph);

  // Flushes the events, which must be on disk before the checkpoint, because a resumed run does not write them again.
  // On any thread.
  TRAINHOOK_DECL void flush_events() noexcept;

  std::string_view hook_;
  CheckpointSaverOptions options_;
  std::string directory_;  // of the options; empty until `begin` if it is the session's
  SaveStart start_;
  std::vector<std::shared_ptr<CheckpointSaverListener>> listeners_;  // of the options and of the graph
  SecondOrStepTimer timer_;
  SessionServices* services_ = nullptr;
  Variable global_step_;
  std::shared_ptr<CheckpointClaim> claim_;
  std::shared_ptr<Saver> saver_;
  std::vector<std::weak_ptr<CheckpointPart::Taken>> pending_;  // of the last save, with files of others
  std::optional<std::int64_t> last_saved_;
  Duration saved_at_{};                     // when the loop waited last for a save
  Duration blocked_{};                      // that the loop has waited for all saves,
  int saves_ = 0;                           // of this process, whether they succeeded or not
  bool is_in_progress_ = false;             // a save is with the writer
  std::optional<std::int64_t> stopped_at_;  // the checkpoint after which a listener requested a stop
  std::exception_ptr events_failure_;       // set by the writing thread; `end` reads it after waiting for that thread
  std::uint64_t save_requests_ = 0;         // requests of others that were served
  int failures_ = 0;
  bool is_last_save_ = false;  // whose failure is never tolerated
  bool described_ = false;
  bool vetoed_ = false;  // the last save that was due
  int vetoes_ = 0;       // since the last checkpoint
  std::string veto_;     // the reason of the last one
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/saving/impl/checkpoint_job.ipp>
#endif
