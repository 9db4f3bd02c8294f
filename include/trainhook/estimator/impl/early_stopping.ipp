// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/estimator/early_stopping.hpp>

#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include <trainhook/compat/stop_hooks.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/estimator/estimator.hpp>
#include <trainhook/events/event_reader.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/hooks/text/tensor_text.hpp>
#include <trainhook/io/posix_file_system.hpp>

namespace trainhook::detail {

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

inline std::string eval_dir_of(const Estimator& estimator, const StopIfOptions& options) {
  return options.eval_dir.empty() ? estimator.eval_dir() : options.eval_dir;
}

inline MetricPredicateOptions evaluations_of(const Estimator& estimator, const StopIfOptions& options) {
  return {.min_steps = options.min_steps, .file_system = estimator.config().file_system};
}

inline StopOnPredicateHook stop_if(StopPredicate predicate, const StopIfOptions& options, std::string kind,
                                   std::string metric) {
  StopOnPredicateHook::Options of_hook{.run_every_secs = options.run_every_secs,
                                       .run_every_steps = options.run_every_steps};
  const StopOnPredicateHook unnamed(predicate, of_hook);
  of_hook.name = name_of_state(unnamed, {}, {std::move(kind), std::move(metric)});
  return StopOnPredicateHook(std::move(predicate), of_hook);
}

}  // namespace trainhook::detail

namespace trainhook {

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

StopOnPredicateHook make_early_stopping_hook(const Estimator& /*estimator*/, StopPredicate should_stop,
                                             StopOnPredicateHook::Options options) {
  return StopOnPredicateHook(std::move(should_stop), options);
}

StopOnPredicateHook stop_if_higher_hook(const Estimator& estimator, std::string metric_name, double threshold,
                                        const StopIfOptions& options) {
  StopPredicate predicate = stop_if_higher(detail::eval_dir_of(estimator, options), metric_name, threshold,
                                           detail::evaluations_of(estimator, options));
  return detail::stop_if(std::move(predicate), options, "stop_if_higher", std::move(metric_name));
}

StopOnPredicateHook stop_if_lower_hook(const Estimator& estimator, std::string metric_name, double threshold,
                                       const StopIfOptions& options) {
  StopPredicate predicate = stop_if_lower(detail::eval_dir_of(estimator, options), metric_name, threshold,
                                          detail::evaluations_of(estimator, options));
  return detail::stop_if(std::move(predicate), options, "stop_if_lower", std::move(metric_name));
}

StopOnPredicateHook stop_if_no_increase_hook(const Estimator& estimator, std::string metric_name,
                                             std::int64_t max_steps_without_increase, const StopIfOptions& options) {
  StopPredicate predicate = stop_if_no_increase(detail::eval_dir_of(estimator, options), metric_name,
                                                max_steps_without_increase, detail::evaluations_of(estimator, options));
  return detail::stop_if(std::move(predicate), options, "stop_if_no_increase", std::move(metric_name));
}

StopOnPredicateHook stop_if_no_decrease_hook(const Estimator& estimator, std::string metric_name,
                                             std::int64_t max_steps_without_decrease, const StopIfOptions& options) {
  StopPredicate predicate = stop_if_no_decrease(detail::eval_dir_of(estimator, options), metric_name,
                                                max_steps_without_decrease, detail::evaluations_of(estimator, options));
  return detail::stop_if(std::move(predicate), options, "stop_if_no_decrease", std::move(metric_name));
}

std::shared_ptr<SessionRunHook> make_stop_at_checkpoint_step_hook(const Estimator& estimator, std::int64_t last_step,
                                                                  Duration wait_after_file_check_secs) {
  if (estimator.config().is_chief()) return make_hook<StopAtStepHook>({.last_step = last_step});
  return make_hook<StopAtCheckpointStepHook>({.model_dir = estimator.model_dir(),
                                              .last_step = last_step,
                                              .wait_after_file_check_secs = wait_after_file_check_secs});
}

}  // namespace trainhook
