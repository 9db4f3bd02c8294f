// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointSaverHook: saves checkpoints now and then, and at the end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/creation/scaffold.hpp>
#include <trainhook/events/file_writers.hpp>
#include <trainhook/hooks/checkpoint_claim.hpp>
#include <trainhook/hooks/checkpoint_saver_listener.hpp>
#include <trainhook/hooks/graph_export.hpp>
#include <trainhook/hooks/second_or_step_timer.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Saves the model to `<checkpoint_dir>/<checkpoint_basename>-<step>`: when training starts, whenever the period is over, and when the
/// session ends. A checkpoint that was just restored is not saved again, and one that a hook vetoes is not saved. Also writes
/// `graph.pbtxt`, and events that tell of the graph and of each save. Runs on the loop's thread: AsyncCheckpointSaverHook writes in the
/// background. Source: TensorFlow's `CheckpointSaverHook`.
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
    bool save_graph_def = true;       ///< `graph.pbtxt`, and a `.meta` with each checkpoint
    bool align_steps = false;         ///< save at multiples of `save_steps`, wherever training was interrupted
    int tolerated_save_failures = 0;  ///< so many saves in a row may fail with a log line only; one more makes the run fail
  };

  /// @throws InvalidArgumentError for no directory, not exactly one period above zero, a saver and a scaffold at once, a null listener.
  explicit CheckpointSaverHook(Options options) : CheckpointSaverHook(std::move(options), "CheckpointSaverHook") {}

  [[nodiscard]] HookPhase phase() const noexcept override { return HookPhase::Save; }

  /// The step of the newest checkpoint that this hook knows to be committed.
  [[nodiscard]] std::optional<std::int64_t> last_saved_step() const noexcept { return last_saved_; }

  void begin(Graph& graph) override {
    global_step_ = detail::require_global_step(graph, type_);
    claim_.reset();
    claim_ = claim_checkpoints(
        graph, environment().file_system(),
        {.directory = options_.checkpoint_dir, .basename = options_.checkpoint_basename, .hook = std::string(type_)});
    timer_.reset();
    last_saved_.reset();
    saver_.reset();
    events_failure_ = nullptr;
    meta_graph_.clear();
    described_ = vetoed_ = false;
    failures_ = 0;
    for (const auto& listener : options_.listeners) listener->begin();
  }

  void after_create_session(SessionRef session, Coordinator& coordinator) override {
    const std::int64_t step = read_global_step(session, global_step_);
    if (is_restored(step)) {  // there is nothing to save, and what describes the graph waits for the first run
      last_saved_ = step;
      timer_.update_last_triggered_step(step, environment().clock());
      return;
    }
    describe(session.graph());
    if (save(session, step)) coordinator.request_stop();
  }

  SessionRunArgs before_run(SessionRunContext& context) override {
    if (!described_) describe(context.session().graph());
    return {};
  }

  void after_run(SessionRunContext& context, const SessionRunValues& /*values*/) override {
    const std::int64_t step = context.global_step();
    if (timer_.should_trigger_for_step(step, context) && save(context.session(), step)) context.request_stop();
  }

  void end(SessionRef session) override {
    const std::int64_t step = read_global_step(session, global_step_);
    std::exception_ptr failure;
    const auto attempt = [&failure](auto&& act) {  // everything is done, and the first error is the one thrown
      try {
        act();
      } catch (...) {
        if (failure == nullptr) failure = std::current_exception();
      }
    };
    attempt([&] {
      if (last_saved_ != step) save_now(session, step);
    });
    for (const auto& listener : options_.listeners) attempt([&] { listener->end(session, step); });
    claim_.reset();
    if (failure == nullptr) failure = std::exchange(events_failure_, nullptr);
    if (failure != nullptr) std::rethrow_exception(failure);
  }

  void abort(const std::exception_ptr& /*error*/) noexcept override { claim_.reset(); }

 protected:
  CheckpointSaverHook(Options options, std::string_view type)
      : options_(std::move(options)),
        type_(type),
        timer_({.every_secs = options_.save_secs, .every_steps = options_.save_steps, .align = options_.align_steps}, type, "save_secs",
               "save_steps") {
    if (options_.checkpoint_dir.empty()) {
      throw InvalidArgumentError(type_, ": checkpoint_dir is empty; give the directory that the checkpoints go to");
    }
    if (options_.saver != nullptr && options_.scaffold != nullptr) {
      throw InvalidArgumentError(type_, ": saver and scaffold are both given; give one of them");
    }
    const std::string& basename = options_.checkpoint_basename;
    if (basename.empty() || basename.find('/') != std::string::npos) {
      throw InvalidArgumentError(type_, ": checkpoint_basename is '", basename, "'; it must be a file name without directory");
    }
    if (options_.tolerated_save_failures < 0) {
      throw InvalidArgumentError(type_, ": tolerated_save_failures is ", options_.tolerated_save_failures, "; it must not be negative");
    }
    for (const auto& listener : options_.listeners) {
      if (listener == nullptr) throw InvalidArgumentError(type_, ": a listener is null");
    }
  }

  /// Saves because it is due. True where a listener asks to stop.
  virtual bool save(SessionRef session, std::int64_t step) { return save_now(session, step); }

  /// Saves on this thread. True where a listener asks to stop.
  bool save_now(SessionRef session, std::int64_t step) {
    if (is_vetoed(step)) return false;
    mark_triggered(step);
    std::string prefix;
    try {
      announce(session, step);
      prefix = take(session, step)();
    } catch (...) {
      tell_failure(session, step, std::current_exception());
      return false;
    }
    return tell_committed(session, step, prefix);
  }

  /// Whether a hook forbids to save the model as it is. The timer stays as it was: it is saved as soon as it is good again.
  [[nodiscard]] bool is_vetoed(std::int64_t step) {
    const std::optional<std::string> reason = environment().save_veto();
    if (reason && !vetoed_) log_warning(type_, ": the model of step ", step, " is not saved: ", *reason);
    vetoed_ = reason.has_value();
    return vetoed_;
  }

  void mark_triggered(std::int64_t step) { timer_.update_last_triggered_step(step, environment().clock()); }

  /// Says that a save begins, in the order of TensorFlow's hook.
  virtual void announce(SessionRef session, std::int64_t step) {
    tell_before_save(session, step);
    log_saving(step);
  }

  void log_saving(std::int64_t step) const {
    log_info("Saving checkpoints for ", step, " into ", join_path(options_.checkpoint_dir, options_.checkpoint_basename), ".");
  }

  void tell_before_save(SessionRef session, std::int64_t step) {
    environment().file_system().make_directories(options_.checkpoint_dir);
    for (const auto& listener : options_.listeners) listener->before_save(session, step);
  }

  /// Takes everything that belongs to the checkpoint, as of now. The result commits it, on any thread, and gives the prefix.
  [[nodiscard]] std::function<std::string()> take(SessionRef session, std::int64_t step) {
    std::vector<CheckpointCompanion::Commit> companions;
    if (claim_ != nullptr) {
      for (const auto& companion : claim_->companions) companions.push_back(companion->take(session, step));
    }
    SaveRequest request{.save_path = join_path(options_.checkpoint_dir, options_.checkpoint_basename), .global_step = step};
    if (options_.save_graph_def) request.meta_graph = meta_graph_;
    const std::shared_ptr<Saver>& saver = find_saver(session.graph());
    return [this, saver, companions = std::move(companions), snapshot = saver->snapshot(session), request = std::move(request)] {
      flush_events();
      for (const CheckpointCompanion::Commit& companion : companions) companion.before_model();
      std::string prefix = saver->write(snapshot, request);
      for (const CheckpointCompanion::Commit& companion : companions) companion.after_model();
      return prefix;
    };
  }

  bool tell_committed(SessionRef session, std::int64_t step, const std::string& prefix) {
    last_saved_ = step;
    failures_ = 0;
    environment()
        .writers()
        .at(options_.checkpoint_dir)
        .add_session_log({.status = SessionLog::Checkpoint, .checkpoint_path = prefix}, step);
    bool stop = false;
    for (const auto& listener : options_.listeners) stop |= listener->after_save(session, step);
    return stop;
  }

  /// Throws the error again unless it is to be tolerated; then it is logged.
  void tell_failure(SessionRef session, std::int64_t step, const std::exception_ptr& error) {
    tell_no_save(session, step, error);
    if (++failures_ > options_.tolerated_save_failures) std::rethrow_exception(error);
    log_error(type_, ": the checkpoint of step ", step, " could not be saved: ", trainhook::describe(error));
  }

  /// Tells listeners alone. What one of them throws is logged: `error` is what matters.
  void tell_no_save(SessionRef session, std::int64_t step, const std::exception_ptr& error) {
    for (const auto& listener : options_.listeners) {
      try {
        listener->save_failed(session, step, error);
      } catch (...) {
        log_error(type_, ": a listener failed on hearing of a failed save: ", trainhook::describe(std::current_exception()));
      }
    }
  }

  [[nodiscard]] std::string_view type() const noexcept { return type_; }

 private:
  [[nodiscard]] const std::shared_ptr<Saver>& find_saver(const Graph& graph) {
    if (saver_ == nullptr) {
      saver_ = options_.saver;
      if (saver_ == nullptr && options_.scaffold != nullptr) saver_ = options_.scaffold->saver();
      if (saver_ == nullptr) saver_ = only_saver(graph);
      saver_->use(environment().file_system(), environment().clock());
    }
    return saver_;
  }

  // What is in the events must not be behind the checkpoint: a resumed run does not write it again. On any thread.
  void flush_events() noexcept {
    try {
      environment().writers().flush();
    } catch (...) {
      events_failure_ = std::current_exception();
      log_error(type_, ": events could not be written before the checkpoint: ", trainhook::describe(events_failure_));
    }
  }

  // Whether the model is that of a checkpoint of this hook, as it stands on disk.
  [[nodiscard]] bool is_restored(std::int64_t step) const {
    return is_checkpoint_of(environment().file_system(), environment().restored_from(), options_.checkpoint_dir,
                            options_.checkpoint_basename, step);
  }

  // Once a graph: it is final, and a recovery does not change it.
  void describe(const Graph& graph) {
    if (described_) return;
    described_ = true;
    meta_graph_ = export_meta_graph_for(graph, find_saver(graph)->options());
    if (options_.save_graph_def) write_graph_text(environment().file_system(), graph, options_.checkpoint_dir);
    add_graph_events(environment().writers().at(options_.checkpoint_dir), graph, meta_graph_);
  }

  [[nodiscard]] std::shared_ptr<Saver> only_saver(const Graph& graph) const {
    const auto savers = graph.collection<std::shared_ptr<Saver>>(graph_keys::kSavers);
    if (savers.size() == 1 && savers.front() != nullptr) return savers.front();
    throw FailedPreconditionError(savers.empty() ? "No items" : "More than one item", " in the collection 'savers'; give the ", type_,
                                  " a saver or a scaffold");
  }

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
