// SPDX-License-Identifier: Apache-2.0
/// @file
/// Early stopping by what the evaluations of an estimator have written, and by what its chief has saved.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/hooks/stop_on_predicate_hook.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

class Estimator;

/// A hook that stops when `should_stop` is true, asked every 60 s unless a period is given. Source: TensorFlow's
/// `make_early_stopping_hook`. There the estimator tells who the chief is; only the chief asks, and a variable tells
/// the workers. Here each task that has the hook asks for itself, and ranks of a job stop together, so the estimator
/// makes no difference: it is taken so that a call reads as in TensorFlow.
[[nodiscard]] TRAINHOOK_DECL StopOnPredicateHook make_early_stopping_hook(const Estimator& estimator,
                                                                          StopPredicate should_stop,
                                                                          StopOnPredicateHook::Options options = {});

/// Where the evaluations are, from which step on they count, and how often they are looked at.
struct StopIfOptions {
  std::string eval_dir{};  ///< empty: the estimator's `eval_dir()`
  std::int64_t min_steps = 0;
  OptionalDuration run_every_secs{};  ///< if neither period is given: every 60 s
  std::optional<std::int64_t> run_every_steps{};
};

/// Stops when the metric is above, or below, a threshold. Source: TensorFlow's `stop_if_higher_hook`.
[[nodiscard]] TRAINHOOK_DECL StopOnPredicateHook stop_if_higher_hook(const Estimator& estimator,
                                                                     std::string metric_name, double threshold,
                                                                     const StopIfOptions& options = {});
[[nodiscard]] TRAINHOOK_DECL StopOnPredicateHook stop_if_lower_hook(const Estimator& estimator, std::string metric_name,
                                                                    double threshold,
                                                                    const StopIfOptions& options = {});

/// Stops when the metric did not become better for so many steps. Source: TensorFlow's `stop_if_no_increase_hook`.
[[nodiscard]] TRAINHOOK_DECL StopOnPredicateHook stop_if_no_increase_hook(const Estimator& estimator,
                                                                          std::string metric_name,
                                                                          std::int64_t max_steps_without_increase,
                                                                          const StopIfOptions& options = {});
[[nodiscard]] TRAINHOOK_DECL StopOnPredicateHook stop_if_no_decrease_hook(const Estimator& estimator,
                                                                          std::string metric_name,
                                                                          std::int64_t max_steps_without_decrease,
                                                                          const StopIfOptions& options = {});

/// For the chief a StopAtStepHook; for a worker a StopAtCheckpointStepHook, which waits until the chief has saved that
/// step. Source: TensorFlow's `make_stop_at_checkpoint_step_hook`.
[[nodiscard]] TRAINHOOK_DECL HookEntry make_stop_at_checkpoint_step_hook(
    const Estimator& estimator, std::int64_t last_step, Duration wait_after_file_check_secs = std::chrono::seconds(30));

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/estimator/impl/early_stopping.ipp>
#endif
