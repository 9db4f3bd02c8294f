// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/global_step_waiter_hook.hpp>

#include <stop_token>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>

namespace trainhook {

GlobalStepWaiterHook::GlobalStepWaiterHook(Options options) : options_(options) {
  if (options.timeout && *options.timeout <= Duration::zero()) {
    throw InvalidArgumentError("GlobalStepWaiterHook: timeout is {} s; it must be above 0",
                               std::chrono::duration<double>(*options.timeout).count());
  }
}

void GlobalStepWaiterHook::begin(Graph& graph) {
  global_step_ = detail::require_global_step(graph, "GlobalStepWaiterHook");
  waited_ = options_.wait_until_step <= 0;
}

void GlobalStepWaiterHook::after_create_session(SessionRef /*session*/, Coordinator& coordinator) {
  coordinator_ = &coordinator;
}

SessionRunArgs GlobalStepWaiterHook::before_run(SessionRunContext& context) {
  if (!waited_) wait(context);
  waited_ = true;
  return {};
}

bool GlobalStepWaiterHook::stops_within(Duration period) {
  if (coordinator_ != nullptr) return coordinator_->wait_for_stop(period);
  Clock& clock = services().clock();
  return detail::wait_for_stop(std::stop_token(), clock, clock.monotonic_now() + period);
}

void GlobalStepWaiterHook::wait(SessionRunContext& context) {
  const Duration began = context.now();
  log_info("Waiting for global step {} before starting training.", options_.wait_until_step);
  std::int64_t logged = 0;
  for (;;) {
    const std::int64_t step = read_global_step(context.session(), global_step_);
    if (step >= options_.wait_until_step) return;
    if (step - logged > kStepsBetweenLines) {
      log_info("Waiting for global step {} before starting training. Current step is {}.", options_.wait_until_step,
               step);
      logged = step;
    }
    if (options_.timeout && services().clock().monotonic_now() - began >= *options_.timeout) {
      throw DeadlineExceededError(
          "GlobalStepWaiterHook: the global step is {} after {} s, not {}; see that the process that trains is "
          "alive, or give a longer timeout",
          step, std::chrono::duration<double>(*options_.timeout).count(), options_.wait_until_step);
    }
    if (stops_within(kBetweenLooks)) return;
  }
}

}  // namespace trainhook
