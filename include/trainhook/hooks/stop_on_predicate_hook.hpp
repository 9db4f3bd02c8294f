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

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/stop_on_predicate_hook.ipp>
#endif
