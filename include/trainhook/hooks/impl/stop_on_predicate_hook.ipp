// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/stop_on_predicate_hook.hpp>

#include <chrono>
#include <map>
#include <string_view>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/events/event_reader.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/hooks/text/tensor_text.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook::detail {

/// A timer needs a positive period: one of no time is one step.
inline SecondOrStepTimer::Options periods_of(const StopOnPredicateHook::Options& options) {
  if (!options.run_every_secs && !options.run_every_steps) return {.every_secs = std::chrono::seconds(60)};
  if (options.run_every_secs == Duration::zero() && !options.run_every_steps) return {.every_steps = 1};
  return {.every_secs = options.run_every_secs, .every_steps = options.run_every_steps};
}

/// The values of one metric in the directory, by step. @throws NotFoundError if an evaluation lacks it.
inline std::map<std::int64_t, double> recorded(const std::string& eval_dir, const std::string& metric,
                                               const MetricPredicateOptions& options) {
  std::map<std::int64_t, double> values;
  for (const auto& [step, metrics] : read_eval_metrics(*options.file_system, eval_dir)) {
    if (step < options.min_steps) continue;
    const auto found = metrics.find(metric);
    if (found == metrics.end())
      throw NotFoundError("early stopping: the evaluation of step {} in {} has no metric '{}'", step, eval_dir, metric);
    values.emplace(step, found->second);
  }
  return values;
}

/// True once `is_beyond(value, threshold)`.
template <class Compare>
StopPredicate stop_beyond(std::string eval_dir, std::string metric, double threshold, MetricPredicateOptions options,
                          std::string_view relation, Compare is_beyond) {
  options.file_system = &given_or_posix(options.file_system);
  return [=] {
    for (const auto& [step, value] : recorded(eval_dir, metric, options)) {
      if (!is_beyond(value, threshold)) continue;
      log_info("At step {}, metric \"{}\" has value {} which is {} the configured threshold ({}) for early stopping.",
               step, metric, numpy_text(Tensor(value)), relation, numpy_text(Tensor(threshold)));
      return true;
    }
    return false;
  };
}

/// True if a value was the best for `max_steps`, by `is_better(value, best)`.
template <class Compare>
StopPredicate stop_without_progress(std::string eval_dir, std::string metric, std::int64_t max_steps,
                                    MetricPredicateOptions options, std::string_view progress, Compare is_better) {
  if (max_steps < 0) throw InvalidArgumentError("early stopping: max_steps {} must not be negative", max_steps);
  options.file_system = &given_or_posix(options.file_system);
  return [=] {
    std::optional<std::pair<std::int64_t, double>> best;
    for (const auto& now : recorded(eval_dir, metric, options)) {
      if (!best || is_better(now.second, best->second)) best = now;
      if (now.first - best->first < max_steps) continue;
      log_info(
          "No {} in metric \"{}\" for {} steps, which is greater than or equal to max steps ({}) configured for early "
          "stopping.",
          progress, metric, now.first - best->first, max_steps);
      return true;
    }
    return false;
  };
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

StopPredicate stop_if_higher(std::string eval_dir, std::string metric, double threshold,
                             MetricPredicateOptions options) {
  return detail::stop_beyond(std::move(eval_dir), std::move(metric), threshold, options, "greater than",
                             std::greater<double>());
}

StopPredicate stop_if_lower(std::string eval_dir, std::string metric, double threshold,
                            MetricPredicateOptions options) {
  return detail::stop_beyond(std::move(eval_dir), std::move(metric), threshold, options, "less than",
                             std::less<double>());
}

StopPredicate stop_if_no_increase(std::string eval_dir, std::string metric, std::int64_t max_steps_without_increase,
                                  MetricPredicateOptions options) {
  return detail::stop_without_progress(std::move(eval_dir), std::move(metric), max_steps_without_increase, options,
                                       "increase", std::greater<double>());
}

StopPredicate stop_if_no_decrease(std::string eval_dir, std::string metric, std::int64_t max_steps_without_decrease,
                                  MetricPredicateOptions options) {
  return detail::stop_without_progress(std::move(eval_dir), std::move(metric), max_steps_without_decrease, options,
                                       "decrease", std::less<double>());
}

}  // namespace trainhook
