// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/stop_on_predicate_hook.hpp>

#include <chrono>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook::detail {

/// A timer needs a positive period: one of no time is one step.
inline SecondOrStepTimer::Options periods_of(const StopOnPredicateHook::Options& options) {
  if (!options.run_every_secs && !options.run_every_steps) return {.every_secs = std::chrono::seconds(60)};
  if (options.run_every_secs == Duration::zero() && !options.run_every_steps) return {.every_steps = 1};
  return {.every_secs = options.run_every_secs, .every_steps = options.run_every_steps};
}

}  // namespace trainhook::detail

namespace trainhook {

StopOnPredicateHook::StopOnPredicateHook(StopPredicate should_stop, Options options)
    : should_stop_(std::move(should_stop)),
      name_(options.name),
      timer_(*this, detail::periods_of(options), "StopOnPredicateHook", "run_every_secs", "run_every_steps") {
  if (!should_stop_) throw InvalidArgumentError("StopOnPredicateHook: should_stop is empty");
}

void StopOnPredicateHook::begin(Graph& graph) {
  detail::require_global_step(graph, "StopOnPredicateHook");
  is_stopped_ = false;
}

void StopOnPredicateHook::after_create_session(SessionRef /*session*/, Coordinator& coordinator) {
  timer_.reset_unless_restored();
  if (is_stopped_) coordinator.request_stop();
}

void StopOnPredicateHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  const std::int64_t step = context.global_step();
  if (!timer_.trigger_if_due(step, context) || !should_stop_()) return;
  log_info("Requesting early stopping at global step {}", step);
  is_stopped_ = true;
  context.request_stop();
}

}  // namespace trainhook
