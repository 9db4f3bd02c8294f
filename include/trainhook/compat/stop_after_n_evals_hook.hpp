// SPDX-License-Identifier: Apache-2.0
/// @file
/// StopAfterNEvalsHook: stops an evaluation after a number of batches.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
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

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/impl/stop_after_n_evals_hook.ipp>
#endif
