// SPDX-License-Identifier: Apache-2.0
/// @file
/// Predicates and hooks that stop training by the metrics of evaluations, or by a chief's checkpoints.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/hooks/stop_on_predicate_hook.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

class Estimator;
class FileSystem;

struct MetricPredicateOptions {
  std::int64_t min_steps = 0;         ///< evaluations of earlier steps are ignored
  FileSystem* file_system = nullptr;  ///< null: the disk
};

/// Predicates on the events of evaluations in a directory, for example an EvaluationHook's `<output_dir>/eval`. Each
/// call reads all events and returns false while there are none. A call throws NotFoundError if an evaluation has no
/// metric of that name. Source: TensorFlow's `stop_if_higher_hook` and its like.
///
/// True once a value is above the threshold.
[[nodiscard]] TRAINHOOK_DECL StopPredicate stop_if_higher(std::string eval_dir, std::string metric, double threshold,
                                                          MetricPredicateOptions options = {});
/// True once a value is below the threshold.
[[nodiscard]] TRAINHOOK_DECL StopPredicate stop_if_lower(std::string eval_dir, std::string metric, double threshold,
                                                         MetricPredicateOptions options = {});
/// True if no value has exceeded the best one for that many steps.
[[nodiscard]] TRAINHOOK_DECL StopPredicate stop_if_no_increase(std::string eval_dir, std::string metric,
                                                               std::int64_t max_steps_without_increase,
                                                               MetricPredicateOptions options = {});
/// True if no value has fallen below the best one for that many steps.
[[nodiscard]] TRAINHOOK_DECL StopPredicate stop_if_no_decrease(std::string eval_dir, std::string metric,
                                                               std::int64_t max_steps_without_decrease,
                                                               MetricPredicateOptions options = {});

/// A hook that stops when `should_stop` returns true; it is called every 60 s unless a period is given. Source:
/// TensorFlow's `make_early_stopping_hook`, in which only the chief calls it and a variable informs the workers. Here
/// each task with the hook calls it, and the ranks of a job stop together. `estimator` is not used; it makes calls read
/// as in TensorFlow.
[[nodiscard]] TRAINHOOK_DECL StopOnPredicateHook make_early_stopping_hook(const Estimator& estimator,
                                                                          StopPredicate should_stop,
                                                                          StopOnPredicateHook::Options options = {});

/// The directory of the evaluations, the first step that counts, and the period.
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

/// Stops if the metric has not improved for `max_steps_without_increase` or `_decrease` steps. Source: TensorFlow's
/// `stop_if_no_increase_hook`.
[[nodiscard]] TRAINHOOK_DECL StopOnPredicateHook stop_if_no_increase_hook(const Estimator& estimator,
                                                                          std::string metric_name,
                                                                          std::int64_t max_steps_without_increase,
                                                                          const StopIfOptions& options = {});
[[nodiscard]] TRAINHOOK_DECL StopOnPredicateHook stop_if_no_decrease_hook(const Estimator& estimator,
                                                                          std::string metric_name,
                                                                          std::int64_t max_steps_without_decrease,
                                                                          const StopIfOptions& options = {});

/// Returns a StopAtStepHook for the chief, and for a worker a StopAtCheckpointStepHook, which waits until the chief has
/// saved that step. Source: TensorFlow's `make_stop_at_checkpoint_step_hook`.
[[nodiscard]] TRAINHOOK_DECL std::shared_ptr<SessionRunHook> make_stop_at_checkpoint_step_hook(
    const Estimator& estimator, std::int64_t last_step, Duration wait_after_file_check_secs = std::chrono::seconds(30));

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/estimator/impl/early_stopping.ipp>
#endif
