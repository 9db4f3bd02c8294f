// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/compat/stop_after_n_evals_hook.hpp>

#include <vector>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook {

StopAfterNEvalsHook::StopAfterNEvalsHook(std::optional<std::int64_t> num_evals, bool log_progress)
    : num_evals_(num_evals), log_period_(log_progress ? 1 : 0) {
  if (num_evals && *num_evals <= 0)
    throw InvalidArgumentError("StopAfterNEvalsHook: num_evals is {}; it must be positive", *num_evals);
  if (log_progress && num_evals.value_or(0) >= 20) log_period_ = *num_evals / 10;
}

void StopAfterNEvalsHook::begin(Graph& graph) {
  const std::vector<Output> counts = graph.collection<Output>(graph_keys::kEvalStep);
  if (counts.empty())
    throw FailedPreconditionError(
        "StopAfterNEvalsHook: nothing counts the batches of this graph; evaluate it with evaluate_once()");
  evals_completed_ = counts.back();
}

SessionRunArgs StopAfterNEvalsHook::before_run(SessionRunContext& /*context*/) { return {evals_completed_}; }

void StopAfterNEvalsHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  const auto completed = values.results[0].scalar<std::int64_t>();
  const bool is_last = num_evals_ && completed >= *num_evals_;
  if (log_period_ > 0 && (completed % log_period_ == 0 || is_last)) {
    if (num_evals_)
      log_info("Evaluation [{}/{}]", completed, *num_evals_);
    else
      log_info("Evaluation [{}]", completed);
  }
  if (is_last) context.request_stop(fmt::format("{} evaluations are done", completed));
}

}  // namespace trainhook
