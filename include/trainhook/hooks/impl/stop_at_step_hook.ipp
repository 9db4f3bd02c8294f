// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/stop_at_step_hook.hpp>

#include <limits>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>

namespace trainhook {

StopAtStepHook::StopAtStepHook(Options options) : options_(options), last_step_(options.last_step) {
  if (options.num_steps.has_value() == options.last_step.has_value()) {
    throw InvalidArgumentError("StopAtStepHook: exactly one of num_steps and last_step must be given, not {}",
                               options.num_steps ? "both" : "neither");
  }
  if (options.num_steps.value_or(0) < 0) {
    throw InvalidArgumentError("StopAtStepHook: num_steps is {}; it must not be negative", *options.num_steps);
  }
  if (options.last_step.value_or(0) < 0) {
    throw InvalidArgumentError("StopAtStepHook: last_step is {}; it must not be negative", *options.last_step);
  }
}

void StopAtStepHook::begin(Graph& graph) {
  global_step_ = detail::require_global_step(graph, "StopAtStepHook");
  last_step_ = options_.last_step;
}

void StopAtStepHook::after_create_session(SessionRef session, Coordinator& coordinator) {
  const std::int64_t step = read_global_step(session, global_step_);
  if (!last_step_) {
    constexpr std::int64_t kLargest = (std::numeric_limits<std::int64_t>::max)();
    last_step_ = step > 0 && *options_.num_steps > kLargest - step ? kLargest : step + *options_.num_steps;
  }
  if (step < *last_step_) return;
  log_info("StopAtStepHook: the model is at step {} already, so the loop makes no step; its last step is {}", step,
           *last_step_);
  services().set_stop_reason(reason());
  coordinator.request_stop();
}

void StopAtStepHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  if (last_step_ && context.global_step() >= *last_step_) context.request_stop(reason());
}

std::string StopAtStepHook::reason() const { return fmt::format("step {} is reached", *last_step_); }

}  // namespace trainhook
