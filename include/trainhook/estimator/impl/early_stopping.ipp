// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/estimator/early_stopping.hpp>

#include <utility>

#include <trainhook/compat/stop_hooks.hpp>
#include <trainhook/estimator/estimator.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>

namespace trainhook::detail {

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
