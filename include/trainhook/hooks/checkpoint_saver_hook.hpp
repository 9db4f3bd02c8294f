// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointSaverHook: saves checkpoints now and then, and at the end.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/clock.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/hooks/checkpoint_saver_listener.hpp>
#include <trainhook/hooks/scaffold.hpp>
#include <trainhook/hooks/second_or_step_timer.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/run_context.hpp>
#include <trainhook/session/session_ref.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Saves the model to `<checkpoint_dir>/<checkpoint_basename>-<step>`: when training starts, whenever the period is
/// over, and when the session ends. A checkpoint that was just restored is not saved again, and one that a hook vetoes
/// is not saved. Also writes `graph.pbtxt`, and events that tell of the graph and of each save. Runs on the loop's
/// thread: AsyncCheckpointSaverHook writes in the background. Source: TensorFlow's `CheckpointSaverHook`.
class CheckpointSaverHook : public SessionRunHook {
 public:
  struct Options {
    std::string checkpoint_dir{};
    std::optional<Duration> save_secs{};
    std::optional<std::int64_t> save_steps{};
    std::shared_ptr<Saver> saver{};  ///< default: the scaffold's, else the one in the graph's collection `savers`
    std::string checkpoint_basename = "model.ckpt";
    std::shared_ptr<const Scaffold> scaffold{};
    std::vector<std::shared_ptr<CheckpointSaverListener>> listeners{};
    bool save_graph_def = true;  ///< `graph.pbtxt`, and a `.meta` with each checkpoint
    bool align_steps = false;    ///< save at multiples of `save_steps`, wherever training was interrupted
    int tolerated_save_failures =
        0;  ///< so many saves in a row may fail with a log line only; one more makes the run fail
  };

  /// @throws InvalidArgumentError for no directory, not exactly one period above zero, a saver and a scaffold at once,
  /// a null listener.
  explicit CheckpointSaverHook(Options options) : CheckpointSaverHook(std::move(options), "CheckpointSaverHook") {}

  [[nodiscard]] HookPhase phase() const noexcept override { return HookPhase::Save; }

  /// The step of the newest checkpoint that this hook knows to be committed.
  [[nodiscard]] std::optional<std::int64_t> last_saved_step() const noexcept { return last_saved_; }

  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL SessionRunArgs before_run(SessionRunContext& context) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& /*values*/) override;
  TRAINHOOK_DECL void end(SessionRef session) override;

  void abort(const std::exception_ptr& /*error*/) noexcept override { claim_.reset(); }

 protected:
  TRAINHOOK_DECL CheckpointSaverHook(Options options, std::string_view type);

  /// Saves because it is due. True where a listener asks to stop.
  virtual bool save(SessionRef session, std::int64_t step) { return save_now(session, step); }

  /// Saves on this thread. True where a listener asks to stop.
  TRAINHOOK_DECL bool save_now(SessionRef session, std::int64_t step);

  /// Whether a hook forbids to save the model as it is. The timer stays as it was: it is saved as soon as it is good
  /// again.
  [[nodiscard]] TRAINHOOK_DECL bool is_vetoed(std::int64_t step);

  TRAINHOOK_DECL void mark_triggered(std::int64_t step);

  /// Says that a save begins, in the order of TensorFlow's hook.
  virtual void announce(SessionRef session, std::int64_t step) {
    tell_before_save(session, step);
    log_saving(step);
  }

  TRAINHOOK_DECL void log_saving(std::int64_t step) const;
  TRAINHOOK_DECL void tell_before_save(SessionRef session, std::int64_t step);

  /// Takes everything that belongs to the checkpoint, as of now. The result commits it, on any thread, and gives the
  /// prefix.
  [[nodiscard]] TRAINHOOK_DECL std::function<std::string()> take(SessionRef session, std::int64_t step);

  TRAINHOOK_DECL bool tell_committed(SessionRef session, std::int64_t step, const std::string& prefix);

  /// Throws the error again unless it is to be tolerated; then it is logged.
  TRAINHOOK_DECL void tell_failure(SessionRef session, std::int64_t step, const std::exception_ptr& error);

  /// Tells listeners alone. What one of them throws is logged: `error` is what matters.
  TRAINHOOK_DECL void tell_no_save(SessionRef session, std::int64_t step, const std::exception_ptr& error);

  [[nodiscard]] std::string_view type() const noexcept { return type_; }

 private:
  [[nodiscard]] TRAINHOOK_DECL const std::shared_ptr<Saver>& find_saver(const Graph& graph);

  // What is in the events must not be behind the checkpoint: a resumed run does not write it again. On any thread.
  TRAINHOOK_DECL void flush_events() noexcept;

  // Whether the model is that of a checkpoint of this hook, as it stands on disk.
  [[nodiscard]] TRAINHOOK_DECL bool is_restored(std::int64_t step) const;

  // Once a graph: it is final, and a recovery does not change it.
  TRAINHOOK_DECL void describe(const Graph& graph);

  [[nodiscard]] TRAINHOOK_DECL std::shared_ptr<Saver> only_saver(const Graph& graph) const;

  Options options_;
  std::string_view type_;
  SecondOrStepTimer timer_;
  Variable global_step_;
  std::shared_ptr<CheckpointClaim> claim_;
  std::shared_ptr<Saver> saver_;
  std::string meta_graph_;
  std::optional<std::int64_t> last_saved_;
  std::exception_ptr events_failure_;  // set by whichever thread writes; the end, which throws it, waits for that
  int failures_ = 0;
  bool described_ = false;
  bool vetoed_ = false;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/checkpoint_saver_hook.ipp>
#endif
