// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/metric_watch.hpp>

#include <fmt/format.h>

#include <trainhook/core/log.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/session/hook_services.hpp>

namespace trainhook::detail {

bool MetricWatch::take(const PublishedMetric* newest) noexcept {
  if (newest == nullptr || newest->is_extra || newest->step == seen_) return false;
  seen_ = newest->step;
  if (is_better(better_, newest->value, best_, min_delta_)) {
    best_ = newest->value;
    best_step_ = newest->step;
    worse_ = 0;
  } else {
    ++worse_;
  }
  return true;
}

std::string MetricWatch::best_text() const {
  return best_ ? fmt::format("best {:.6g} at step {}", *best_, best_step_) : std::string("all were NaN");
}

void MetricWatch::save(StateValues& state) const {
  if (best_) state.set("best", Tensor(*best_));
  if (seen_) state.set("seen", Tensor(*seen_));
  state.set("best_step", Tensor(best_step_));
  state.set("worse", Tensor(worse_));
}

void MetricWatch::load(const StateValues& state) {
  const Tensor* best = state.find("best");
  const Tensor* seen = state.find("seen");
  best_ = best != nullptr ? std::optional(best->scalar<double>()) : std::nullopt;
  seen_ = seen != nullptr ? std::optional(seen->scalar<std::int64_t>()) : std::nullopt;
  best_step_ = state.at("best_step").scalar<std::int64_t>();
  worse_ = state.at("worse").scalar<std::int64_t>();
  loaded_ = true;
}

void warn_if_never_published(std::string_view hook, std::string_view metric, const HookServices& services) {
  if (services.metric(metric) != nullptr || services.is_interrupted()) return;
  log_warning(
      "{}: no value of '{}' was published in this run; name the metric of an EvaluationHook, such as 'eval/loss', and "
      "evaluate more often than the run is long",
      hook, metric);
}

}  // namespace trainhook::detail
