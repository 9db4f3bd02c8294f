// SPDX-License-Identifier: Apache-2.0
/// @file
/// Hooks that stop a session: StopAfterNEvalsHook an evaluation after a number of batches, StopAtCheckpointStepHook a
/// worker once the chief has saved the last step, MultiStepStopAtStepHook at a step although each run makes several.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/session/session_ref.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

namespace graph_keys {

/// A collection with an Output: the number of batches of the evaluation, including this run's.
inline constexpr std::string_view kEvalStep = "eval_step";

}  // namespace graph_keys

/// Logs the progress of an evaluation and stops it after `num_evals` batches; without a value, at the end of the input.
/// For `evaluate_once`, which counts the batches. Source: TensorFlow's `_StopAfterNEvalsHook`.
class StopAfterNEvalsHook final : public SessionRunHook {
 public:
  /// @param log_progress logs every run or, for 20 or more runs, every tenth part
  /// @throws InvalidArgumentError unless `num_evals` is positive.
  TRAINHOOK_DECL explicit StopAfterNEvalsHook(std::optional<std::int64_t> num_evals, bool log_progress = true);

  /// @throws FailedPreconditionError if the graph has no `eval_step`.
  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL SessionRunArgs before_run(SessionRunContext& context) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;

 private:
  std::optional<std::int64_t> num_evals_;
  std::int64_t log_period_;  // 0: never
  Output evals_completed_{};
};

/// Requests a stop when a directory has a checkpoint of the last step. Once this session reaches that step it waits, so
/// that workers do not end before the model is saved. Source: TensorFlow's `_StopAtCheckpointStepHook`.
class StopAtCheckpointStepHook final : public SessionRunHook {
 public:
  struct Options {
    std::string model_dir{};
    std::int64_t last_step = 0;
    Duration wait_after_file_check_secs = std::chrono::seconds(30);  ///< the wait in each run without such a checkpoint
  };

  /// @throws InvalidArgumentError without a `model_dir` or a positive `last_step`.
  TRAINHOOK_DECL explicit StopAtCheckpointStepHook(Options options);

  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;

 private:
  [[nodiscard]] TRAINHOOK_DECL std::int64_t saved_step() const;
  [[nodiscard]] TRAINHOOK_DECL std::string reason() const;

  Options options_;
  Coordinator* coordinator_ = nullptr;
  bool is_saved_ = false;  // the chief has saved the last step, which no recovery of this session changes
};

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
#include <trainhook/compat/impl/stop_hooks.ipp>
#endif
