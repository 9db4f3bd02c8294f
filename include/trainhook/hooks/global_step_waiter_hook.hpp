// SPDX-License-Identifier: Apache-2.0
/// @file
/// GlobalStepWaiterHook: holds a worker's first run until others have trained so far.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include <trainhook/core/log.hpp>
#include <trainhook/hooks/second_or_step_timer.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Waits in the first `before_run` until the global step reaches `wait_until_step`, looking twice a second; once waited, never again. A
/// coordinator's request to stop ends the wait at once: the loop then makes the run it was about to make, and stops.
/// Source: TensorFlow's `GlobalStepWaiterHook`, which cannot be interrupted and has no timeout.
class GlobalStepWaiterHook final : public SessionRunHook {
 public:
  struct Options {
    std::int64_t wait_until_step = 0;   ///< 0 and below: no wait, and the step is not even read
    std::optional<Duration> timeout{};  ///< none: for as long as it takes
  };

  /// @throws InvalidArgumentError for a timeout that is not above zero.
  explicit GlobalStepWaiterHook(Options options) : options_(options) {
    if (options.timeout && *options.timeout <= Duration::zero()) {
      throw InvalidArgumentError("GlobalStepWaiterHook: timeout is ", std::chrono::duration<double>(*options.timeout).count(),
                                 " s; it must be above 0");
    }
  }

  void begin(Graph& graph) override {
    global_step_ = detail::require_global_step(graph, "GlobalStepWaiterHook");
    waited_ = options_.wait_until_step <= 0;
  }

  void after_create_session(SessionRef /*session*/, Coordinator& coordinator) override { coordinator_ = &coordinator; }

  /// @throws DeadlineExceededError where the step was not reached in time.
  SessionRunArgs before_run(SessionRunContext& context) override {
    if (!waited_) wait(context);
    waited_ = true;
    return {};
  }

 private:
  static constexpr Duration kBetweenLooks = std::chrono::milliseconds(500);
  static constexpr std::int64_t kStepsBetweenLines = 1'000;

  void wait(SessionRunContext& context) {
    const Duration began = context.now();
    std::optional<std::int64_t> logged;
    for (;;) {
      const std::int64_t step = read_global_step(context.session(), global_step_);
      if (step >= options_.wait_until_step) return;
      if (!logged || step - *logged > kStepsBetweenLines) {
        log_info("Waiting for global step ", options_.wait_until_step, " before starting training; it is ", step, ".");
        logged = step;
      }
      if (options_.timeout && environment().clock().monotonic_now() - began >= *options_.timeout) {
        throw DeadlineExceededError("GlobalStepWaiterHook: the global step is ", step, " after ",
                                    std::chrono::duration<double>(*options_.timeout).count(), " s, not ", options_.wait_until_step,
                                    "; see that whoever trains it is alive, or give a longer timeout");
      }
      if (coordinator_->wait_for_stop(kBetweenLooks)) return;
    }
  }

  Options options_;
  Variable global_step_;
  Coordinator* coordinator_ = nullptr;
  bool waited_ = false;
};

}  // namespace trainhook
