// SPDX-License-Identifier: Apache-2.0
/// @file
/// StopOnPredicateHook: stops training when a function returns true, for example by the results of evaluations.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/session/second_or_step_timer.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

class FileSystem;

/// Returns true if training should stop.
using StopPredicate = std::function<bool()>;

/// Calls a predicate at the first run and then at every period, and requests a stop if it returns true, which no
/// recovery changes. Source: TensorFlow's `_StopOnPredicateHook`.
class StopOnPredicateHook final : public SessionRunHook {
 public:
  struct Options {
    OptionalDuration run_every_secs{};  ///< if neither period is given: every 60 s; 0: every run
    std::optional<std::int64_t> run_every_steps{};
    std::string name{};  ///< of its state in checkpoints; set it if there are several such hooks
  };

  explicit StopOnPredicateHook(StopPredicate should_stop) : StopOnPredicateHook(std::move(should_stop), Options{}) {}
  /// @throws InvalidArgumentError for an empty function, both periods, or one that is negative.
  TRAINHOOK_DECL StopOnPredicateHook(StopPredicate should_stop, Options options);
  StopOnPredicateHook(StopOnPredicateHook&& other) noexcept = default;

  [[nodiscard]] std::string name() const override { return name_; }
  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;

 private:
  StopPredicate should_stop_;
  std::string name_;
  SecondOrStepTimer timer_;
  bool is_stopped_ = false;  // the predicate looks at what no recovery takes back
};

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

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/stop_on_predicate_hook.ipp>
#endif
