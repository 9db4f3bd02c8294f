// SPDX-License-Identifier: Apache-2.0
/// @file
/// StopOnPredicateHook: stops training when a function says so, for instance by what evaluations have written.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/hooks/second_or_step_timer.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

class FileSystem;

/// True if training should stop.
using StopPredicate = std::function<bool()>;

/// Asks a predicate at the first run and then at every period, and requests a stop when it is true. Source:
/// TensorFlow's `_StopOnPredicateHook`.
class StopOnPredicateHook final : public SessionRunHook {
 public:
  struct Options {
    OptionalDuration run_every_secs{};  ///< if neither period is given: every 60 s; 0: every run
    std::optional<std::int64_t> run_every_steps{};
  };

  explicit StopOnPredicateHook(StopPredicate should_stop) : StopOnPredicateHook(std::move(should_stop), Options{}) {}
  /// @throws InvalidArgumentError for an empty function, both periods, or one that is negative.
  TRAINHOOK_DECL StopOnPredicateHook(StopPredicate should_stop, Options options);

  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;

 private:
  StopPredicate should_stop_;
  SecondOrStepTimer timer_;
};

struct MetricPredicateOptions {
  std::int64_t min_steps = 0;         ///< evaluations of earlier steps do not count
  FileSystem* file_system = nullptr;  ///< null: the machine's own
};

/// Predicates on what evaluations have written as events into a directory, an EvaluationHook's `<output_dir>/eval` for
/// instance. They read all of it each time, and are false while nothing is there. Asked, they throw NotFoundError if
/// an evaluation has no metric of that name. Source: TensorFlow's `stop_if_higher_hook` and its like.
///
/// True once a value is above the threshold.
[[nodiscard]] TRAINHOOK_DECL StopPredicate stop_if_higher(std::string eval_dir, std::string metric, double threshold,
                                                          MetricPredicateOptions options = {});
/// True once a value is below the threshold.
[[nodiscard]] TRAINHOOK_DECL StopPredicate stop_if_lower(std::string eval_dir, std::string metric, double threshold,
                                                         MetricPredicateOptions options = {});
/// True if the best value was not surpassed for so many steps.
[[nodiscard]] TRAINHOOK_DECL StopPredicate stop_if_no_increase(std::string eval_dir, std::string metric,
                                                               std::int64_t max_steps_without_increase,
                                                               MetricPredicateOptions options = {});
/// True if no value fell below the best one for so many steps.
[[nodiscard]] TRAINHOOK_DECL StopPredicate stop_if_no_decrease(std::string eval_dir, std::string metric,
                                                               std::int64_t max_steps_without_decrease,
                                                               MetricPredicateOptions options = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/stop_on_predicate_hook.ipp>
#endif
