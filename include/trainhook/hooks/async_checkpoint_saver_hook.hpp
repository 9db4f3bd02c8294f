// SPDX-License-Identifier: Apache-2.0
/// @file
/// AsyncCheckpointSaverHook: saves checkpoints without holding up the loop.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/hooks/background_writer.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>

namespace trainhook {

/// What happens when a save falls due while the one before is still being written.
enum class SaveOverlap {
  Skip,     ///< it is left out; the next step asks again, so that it is made as soon as the writer is free
  Wait,     ///< the loop waits until the writer is free
  Replace,  ///< it is taken now and written next, in place of one that waits already
};

/// A CheckpointSaverHook that takes the state on the loop's thread, at one point in time, and writes it on another thread. Listeners are
/// still called on the loop's thread: `before_save` when the state is taken, `after_save` in the first hook call after the commit. What
/// fails in the background fails the run, or the end, that learns of it; a step counts as saved when it is committed. The end waits for the
/// writer, then saves the last step if it is not saved yet; so does a recovery, without the last save. Source: TensorFlow's
/// `AsyncCheckpointSaverHook`, which takes no snapshot.
class AsyncCheckpointSaverHook final : public CheckpointSaverHook {
 public:
  /// As those of CheckpointSaverHook, and `overlap`.
  struct Options {
    std::string checkpoint_dir{};
    std::optional<Duration> save_secs{};
    std::optional<std::int64_t> save_steps{};
    std::shared_ptr<Saver> saver{};
    std::string checkpoint_basename = "model.ckpt";
    std::shared_ptr<const Scaffold> scaffold{};
    std::vector<std::shared_ptr<CheckpointSaverListener>> listeners{};
    bool save_graph_def = true;
    bool align_steps = false;
    int tolerated_save_failures = 0;
    SaveOverlap overlap = SaveOverlap::Skip;
  };

  /// @throws InvalidArgumentError as CheckpointSaverHook.
  explicit AsyncCheckpointSaverHook(Options options)
      : CheckpointSaverHook({.checkpoint_dir = std::move(options.checkpoint_dir),
                             .save_secs = options.save_secs,
                             .save_steps = options.save_steps,
                             .saver = std::move(options.saver),
                             .checkpoint_basename = std::move(options.checkpoint_basename),
                             .scaffold = std::move(options.scaffold),
                             .listeners = std::move(options.listeners),
                             .save_graph_def = options.save_graph_def,
                             .align_steps = options.align_steps,
                             .tolerated_save_failures = options.tolerated_save_failures},
                            "AsyncCheckpointSaverHook"),
        overlap_(options.overlap) {}

  /// Waits until nothing is being written; the loop learns of it in the next hook call.
  void wait_until_written() {
    if (writer_ != nullptr) writer_->wait();
  }

  void begin(Graph& graph) override {
    writer_ = std::make_unique<BackgroundWriter>();
    CheckpointSaverHook::begin(graph);
  }

  void after_create_session(SessionRef session, Coordinator& coordinator) override {
    writer_->wait();
    if (take_outcomes(session)) coordinator.request_stop();
    CheckpointSaverHook::after_create_session(session, coordinator);
  }

  void after_run(SessionRunContext& context, const SessionRunValues& values) override {
    if (writer_->has_outcome() && take_outcomes(context.session())) context.request_stop();
    CheckpointSaverHook::after_run(context, values);
  }

  /// A recovery that follows is to find what is being written.
  void on_run_failed(SessionRunContext& /*context*/, const std::exception_ptr& /*error*/) override { writer_->wait(); }

  void end(SessionRef session) override {
    std::exception_ptr failure;
    try {
      writer_->wait();
      take_outcomes(session);
    } catch (...) {
      failure = std::current_exception();
    }
    try {
      CheckpointSaverHook::end(session);
    } catch (...) {
      if (failure == nullptr) failure = std::current_exception();
    }
    writer_.reset();
    if (failure != nullptr) std::rethrow_exception(failure);
  }

  void abort(const std::exception_ptr& error) noexcept override {
    if (writer_ != nullptr) {
      writer_->wait();
      while (const std::optional<BackgroundWrite> outcome = writer_->take_outcome()) {
        if (outcome->error != nullptr) {
          log_error(type(), ": the checkpoint of step ", outcome->step, " could not be saved: ", describe_error(outcome->error));
        }
      }
      writer_.reset();
    }
    CheckpointSaverHook::abort(error);
  }

 protected:
  void announce(SessionRef session, std::int64_t step) override {
    log_saving(step);
    tell_before_save(session, step);
  }

  bool save(SessionRef session, std::int64_t step) override {
    if (writer_->is_busy() && !may_overlap(step)) return false;
    const bool stop = take_outcomes(session);
    if (is_vetoed(step)) return stop;
    mark_triggered(step);
    try {
      announce(session, step);
      if (const auto replaced = writer_->submit(step, take(session, step))) tell_replaced(session, *replaced, step);
    } catch (...) {
      tell_failure(session, step, std::current_exception());
    }
    return stop;
  }

 private:
  static std::string describe_error(const std::exception_ptr& error) noexcept { return trainhook::describe(error); }

  bool may_overlap(std::int64_t step) {
    if (overlap_ == SaveOverlap::Wait) writer_->wait();
    if (overlap_ != SaveOverlap::Skip) return true;
    if (!std::exchange(skipping_, true)) {
      log_warning(type(), ": skipping the checkpoint of step ", step, ", because the one before is still being written");
    }
    return false;
  }

  void tell_replaced(SessionRef session, std::int64_t step, std::int64_t by) {
    const std::string reason = str_cat("the checkpoint of step ", step, " was waiting to be written and is replaced by that of step ", by);
    log_warning(type(), ": ", reason);
    tell_no_save(session, step, std::make_exception_ptr(CancelledError(reason)));
  }

  // True where a listener asks to stop. All outcomes are told before the first failure is thrown.
  bool take_outcomes(SessionRef session) {
    bool stop = false;
    std::exception_ptr failure;
    while (const std::optional<BackgroundWrite> outcome = writer_->take_outcome()) {
      skipping_ = false;
      try {
        if (outcome->error != nullptr) {
          tell_failure(session, outcome->step, outcome->error);
        } else {
          stop |= tell_committed(session, outcome->step, outcome->prefix);
        }
      } catch (...) {
        if (failure == nullptr) failure = std::current_exception();
      }
    }
    if (failure != nullptr) std::rethrow_exception(failure);
    return stop;
  }

  SaveOverlap overlap_;
  bool skipping_ = false;
  std::unique_ptr<BackgroundWriter> writer_;
};

}  // namespace trainhook
