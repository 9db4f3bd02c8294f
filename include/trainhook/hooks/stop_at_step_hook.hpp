// SPDX-License-Identifier: Apache-2.0
/// @file
/// StopAtStepHook: ends the loop at a step.
#pragma once

#include <cstdint>
#include <optional>

#include <trainhook/hooks/second_or_step_timer.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Requests a stop when the global step reaches `last_step`, or `num_steps` more than the session began with. A session that begins at or
/// behind the last step runs no step at all. The target is found once a session: a recovery does not move it.
/// Source: TensorFlow's `StopAtStepHook`, which always runs one step.
class StopAtStepHook final : public SessionRunHook {
 public:
  struct Options {
    std::optional<std::int64_t> num_steps{};  ///< so many steps in this session
    std::optional<std::int64_t> last_step{};  ///< this global step
  };

  /// @throws InvalidArgumentError unless exactly one is given and it is not negative.
  explicit StopAtStepHook(Options options) : options_(options) {
    if (options.num_steps.has_value() == options.last_step.has_value()) {
      throw InvalidArgumentError("StopAtStepHook: exactly one of num_steps and last_step must be given, not ",
                                 options.num_steps ? "both" : "neither");
    }
    if (options.num_steps.value_or(0) < 0) {
      throw InvalidArgumentError("StopAtStepHook: num_steps is ", *options.num_steps, "; it must not be negative");
    }
    if (options.last_step.value_or(0) < 0) {
      throw InvalidArgumentError("StopAtStepHook: last_step is ", *options.last_step, "; it must not be negative");
    }
  }

  /// The step at which the loop ends; with `num_steps` known from `after_create_session` on.
  [[nodiscard]] std::optional<std::int64_t> last_step() const noexcept { return last_step_; }

  void begin(Graph& graph) override {
    global_step_ = detail::require_global_step(graph, "StopAtStepHook");
    last_step_ = options_.last_step;
  }

  void after_create_session(SessionRef session, Coordinator& coordinator) override {
    const std::int64_t step = read_global_step(session, global_step_);
    if (!last_step_) last_step_ = step + *options_.num_steps;
    if (step >= *last_step_) coordinator.request_stop();
  }

  void after_run(SessionRunContext& context, const SessionRunValues& /*values*/) override {
    if (last_step_ && context.global_step() >= *last_step_) context.request_stop();
  }

 private:
  Options options_;
  Variable global_step_;
  std::optional<std::int64_t> last_step_;
};

}  // namespace trainhook
