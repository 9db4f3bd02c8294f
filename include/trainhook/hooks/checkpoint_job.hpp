// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointJob: what CheckpointSaverHook and AsyncCheckpointSaverHook have in common.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/hooks/checkpoint_saver_options.hpp>
#include <trainhook/hooks/second_or_step_timer.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_context.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook::detail {

class OtherParts;

/// The order of the first two parts of a save.
enum class SaveStart { ListenersThenLog, LogThenListeners };

/// Whether another save will follow. The failure of a save without a successor is never tolerated.
enum class SaveOrder { Periodic, Last };

/// Saves the checkpoints of one hook: knows when a save is due, takes the state, commits it, and calls listeners. A
/// save goes through `is_vetoed`, `start_save`, `take`, the commit that `take` returned, and `committed` or `failed`.
/// All of it belongs on the loop's thread, except for the commit.
class CheckpointJob {
 public:
  /// @param hook the type of the hook, for messages
  /// @throws InvalidArgumentError for options that contradict each other.
  TRAINHOOK_DECL CheckpointJob(std::string_view hook, CheckpointSaverOptions options,
                               SaveStart start = SaveStart::ListenersThenLog);
  CheckpointJob(const CheckpointJob&) = delete;
  CheckpointJob& operator=(const CheckpointJob&) = delete;
  TRAINHOOK_DECL ~CheckpointJob();

  [[nodiscard]] std::string_view hook() const noexcept { return hook_; }
  [[nodiscard]] SaveOverlap overlap() const noexcept { return options_.overlap; }
  [[nodiscard]] std::optional<std::int64_t> last_saved_step() const noexcept { return last_saved_; }
  [[nodiscard]] TRAINHOOK_DECL std::int64_t global_step(SessionRef session) const;

  /// Locks the directory and forgets the last session. `services` must live until the session ends.
  TRAINHOOK_DECL void begin(Graph& graph, HookServices& services);

  /// True if the session's model is a checkpoint of this directory and basename, which then counts as saved. One of
  /// another basename has its input restored at once, because it is saved again before the first run.
  [[nodiscard]] TRAINHOOK_DECL bool is_restored(SessionRef session);

  /// Writes what describes the graph, once for each graph: it is final, and a recovery does not change it.
  TRAINHOOK_DECL void describe(const Graph& graph);
  [[nodiscard]] bool is_described() const noexcept { return described_; }

  [[nodiscard]] TRAINHOOK_DECL bool is_due(SessionRunContext& context) const;

  /// Keeps the directory: call it after each run.
  void keep_directory(SessionRunContext& context) const {
    if (claim_ != nullptr) claim_->keep_directory(context);
  }

  /// The whole save, on this thread. Returns true if a listener asks to stop.
  TRAINHOOK_DECL bool save_now(SessionRef session, std::int64_t step, SaveOrder order = SaveOrder::Periodic);

  /// True if a hook vetoes the save, of this rank or another one. The timer is not triggered, so that the model is
  /// saved as soon as it may be. @throws the error of a rank that has failed.
  [[nodiscard]] TRAINHOOK_DECL bool is_vetoed(SessionRef session, std::int64_t step);

  enum class Commit { AtOnce, Later };

  /// Before `start_save` and outside of what may fail and be tolerated: takes what the other ranks of a job have of
  /// their own for the next `take`, and lets them write their parts of it. @throws the error of a rank that has failed,
  /// which ends all.
  TRAINHOOK_DECL void take_ranks(SessionRef session, std::int64_t step, Commit when);

  /// In a job of several ranks: whether a commit `Later` needs what the other ranks write, and, before waiting for it,
  /// at the end of that step, or of the loop, waits until they have. False in the middle of a step.
  [[nodiscard]] TRAINHOOK_DECL bool awaits_parts() const noexcept;
  TRAINHOOK_DECL bool fetch_parts(std::optional<std::int64_t> step = std::nullopt);

  /// Triggers the timer, calls the listeners' `before_save`, logs.
  TRAINHOOK_DECL void start_save(SessionRef session, std::int64_t step);

  /// Takes everything that belongs to the checkpoint. The result commits it, on any thread, and returns its prefix.
  /// With `AtOnce` it is called before the session runs again, and reads the model itself: no copy of it is taken here.
  [[nodiscard]] TRAINHOOK_DECL std::function<std::string()> take(SessionRef session, std::int64_t step, Commit when);

  /// Calls the listeners' `after_save`. Returns true if one of them asks to stop.
  TRAINHOOK_DECL bool committed(SessionRef session, std::int64_t step, const std::string& prefix);

  /// Calls the listeners' `save_failed`, then throws the error again unless it is tolerated, and logs it if it is.
  TRAINHOOK_DECL void failed(SessionRef session, std::int64_t step, const std::exception_ptr& error,
                             SaveOrder order = SaveOrder::Periodic);

  /// Calls only the listeners' `save_failed`. What one of them throws is logged.
  TRAINHOOK_DECL void not_saved(SessionRef session, std::int64_t step, const std::exception_ptr& error);

  /// Saves the last step if it is not saved yet, calls the listeners' `end`, and unlocks the directory. Throws the
  /// first error when all of it is done; a failure of that save counts, however many failures are tolerated.
  TRAINHOOK_DECL void end(SessionRef session);

  /// Unlocks the directory.
  TRAINHOOK_DECL void abort() noexcept;

 private:
  TRAINHOOK_DECL void check_options() const;
  [[nodiscard]] TRAINHOOK_DECL std::string save_path() const;
  [[nodiscard]] TRAINHOOK_DECL const std::shared_ptr<Saver>& find_saver(const Graph& graph);
  [[nodiscard]] TRAINHOOK_DECL std::shared_ptr<Saver> only_saver(const Graph& graph) const;

  // Events must not be older than the checkpoint: a resumed run does not write them again. On any thread.
  TRAINHOOK_DECL void flush_events() noexcept;

  std::string_view hook_;
  CheckpointSaverOptions options_;
  SaveStart start_;
  SecondOrStepTimer timer_;
  HookServices* services_ = nullptr;
  Variable global_step_;
  std::shared_ptr<CheckpointClaim> claim_;
  std::shared_ptr<Saver> saver_;
  std::string meta_graph_;
  std::vector<NamedTensor> ranks_;      // of the next checkpoint
  std::shared_ptr<OtherParts> others_;  // the same
  std::weak_ptr<OtherParts> pending_;   // of a commit that was begun
  std::optional<std::int64_t> last_saved_;
  std::exception_ptr events_failure_;  // set by the thread that writes; read at the end, which waits for it
  std::uint64_t save_requests_ = 0;    // of others, that were followed
  int failures_ = 0;
  bool described_ = false;
  bool vetoed_ = false;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/checkpoint_job.ipp>
#endif
