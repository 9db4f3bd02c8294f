// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of early_stopping_hook.hpp.
#pragma once

#include <trainhook/hooks/early_stopping_hook.hpp>

#include <cmath>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook {

TRAINHOOK_DECL EarlyStoppingHook::EarlyStoppingHook(Options options) : options_(std::move(options)) {
  if (options_.patience < 1)
    throw InvalidArgumentError("EarlyStoppingHook: patience is {}; it must be at least 1", options_.patience);
  if (!(options_.min_delta >= 0))
    throw InvalidArgumentError("EarlyStoppingHook: min_delta is {}; it must be at least 0", options_.min_delta);
}

TRAINHOOK_DECL EarlyStoppingHook::EarlyStoppingHook(EarlyStoppingHook&& other) noexcept = default;

TRAINHOOK_DECL EarlyStoppingHook::~EarlyStoppingHook() = default;

TRAINHOOK_DECL void EarlyStoppingHook::begin(Graph& /*graph*/) {
  best_.reset();
  seen_.reset();
  best_step_ = worse_ = 0;
}

TRAINHOOK_DECL void EarlyStoppingHook::after_create_session(SessionRef /*session*/, Coordinator& coordinator) {
  if (!has_stopped()) return;
  log_info(
      "EarlyStoppingHook: this run was stopped because {} did not become better than {:.6g}, of step {}; raise "
      "patience to go on",
      options_.metric, best_.value_or(std::nan("")), best_step_);
  coordinator.request_stop();
}

TRAINHOOK_DECL void EarlyStoppingHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  const PublishedMetric* metric = services().metric(options_.metric);
  if (metric == nullptr || metric->step == seen_) return;
  seen_ = metric->step;
  if (detail::is_better(options_.better, metric->value, best_, options_.min_delta)) {
    best_ = metric->value;
    best_step_ = metric->step;
    worse_ = 0;
    return;
  }
  ++worse_;
  if (!has_stopped()) return;
  log_info(
      "EarlyStoppingHook: {} has not become better than {:.6g}, of step {}, for {} times; training stops after "
      "step {}",
      options_.metric, best_.value_or(std::nan("")), best_step_, worse_, context.global_step());
  context.request_stop();
}

TRAINHOOK_DECL void EarlyStoppingHook::end(SessionRef /*session*/) {
  if (seen_ || services().metric(options_.metric) != nullptr) return;
  log_warning(
      "EarlyStoppingHook: no value of '{}' was published in this run; name the metric of an EvaluationHook, such as "
      "'eval/loss', and evaluate more often than the run is long",
      options_.metric);
}

TRAINHOOK_DECL StateValues EarlyStoppingHook::save_state() {
  StateValues state;
  if (best_) state.set("best", Tensor(*best_));
  if (seen_) state.set("seen", Tensor(*seen_));
  state.set("best_step", Tensor(best_step_));
  state.set("worse", Tensor(worse_));
  return state;
}

TRAINHOOK_DECL void EarlyStoppingHook::load_state(const StateValues& state) {
  const Tensor* best = state.find("best");
  const Tensor* seen = state.find("seen");
  best_ = best != nullptr ? std::optional(best->scalar<double>()) : std::nullopt;
  seen_ = seen != nullptr ? std::optional(seen->scalar<std::int64_t>()) : std::nullopt;
  best_step_ = state.at("best_step").scalar<std::int64_t>();
  worse_ = state.at("worse").scalar<std::int64_t>();
}

}  // namespace trainhook
