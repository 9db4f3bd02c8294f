// SPDX-License-Identifier: Apache-2.0
/// @file
/// MultiStepStopAtStepHook: stops a loop that makes several steps per run at a step.
#pragma once

#include <cstdint>
#include <optional>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/session/session_ref.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// The number of steps that a run of the graph must make: the int32 variable `hooks/steps_per_run`, 1 unless a hook
/// sets it.
/// @throws FailedPreconditionError if its collection, `hooks_steps_per_run`, has several.
TRAINHOOK_DECL Variable get_or_create_steps_per_run_variable(Graph& graph);

/// A StopAtStepHook for runs of several steps: before each run it sets the number of steps, `steps_per_run` or the
/// remaining ones, so that no run passes the last step. A graph reads the number from the variable of
/// `get_or_create_steps_per_run_variable`, a plain loop from `steps_per_run()`. Source: TensorFlow's
/// `_MultiStepStopAtStepHook`.
class MultiStepStopAtStepHook final : public StopAtStepHook {
 public:
  struct Options {
    std::optional<std::int64_t> num_steps{};  ///< as in StopAtStepHook
    std::optional<std::int64_t> last_step{};  ///< as in StopAtStepHook
    std::int32_t steps_per_run = 1;
  };

  /// @throws InvalidArgumentError as StopAtStepHook, and for fewer steps than 1.
  TRAINHOOK_DECL explicit MultiStepStopAtStepHook(const Options& options);

  /// The number of steps that the next run must make, once the session is created.
  [[nodiscard]] std::int32_t steps_per_run() const noexcept { return steps_; }

  [[nodiscard]] bool writes_variables() const override { return true; }
  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;

 private:
  TRAINHOOK_DECL void update(SessionRef session, std::int64_t step);

  std::int32_t most_;
  std::int32_t steps_;
  std::int32_t loaded_ = 0;
  Variable variable_;  // empty if the graph has none
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/impl/multi_step_stop_at_step_hook.ipp>
#endif
