// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/compat/stop_hooks.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/load_checkpoint.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook::detail {

inline constexpr std::string_view kStepsPerRun = "hooks_steps_per_run";  // a collection

}  // namespace trainhook::detail

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

StopAtCheckpointStepHook::StopAtCheckpointStepHook(Options options) : options_(std::move(options)) {
  if (options_.model_dir.empty()) throw InvalidArgumentError("StopAtCheckpointStepHook: model_dir is empty");
  if (options_.last_step <= 0)
    throw InvalidArgumentError("StopAtCheckpointStepHook: last_step is {}; it must be positive", options_.last_step);
}

void StopAtCheckpointStepHook::begin(Graph& graph) {
  detail::require_global_step(graph, "StopAtCheckpointStepHook");
  is_saved_ = false;
}

void StopAtCheckpointStepHook::after_create_session(SessionRef /*session*/, Coordinator& coordinator) {
  coordinator_ = &coordinator;
  if (!is_saved_) return;
  services().set_stop_reason(reason());
  coordinator.request_stop();
}

void StopAtCheckpointStepHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  if (context.global_step() < options_.last_step) return;
  is_saved_ = saved_step() >= options_.last_step;
  if (is_saved_)
    context.request_stop(reason());
  else
    static_cast<void>(coordinator_->wait_for_stop(options_.wait_after_file_check_secs));
}

std::string StopAtCheckpointStepHook::reason() const {
  return fmt::format("step {} is saved in '{}'", options_.last_step, options_.model_dir);
}

std::int64_t StopAtCheckpointStepHook::saved_step() const {
  FileSystem& disk = services().file_system();
  const std::optional<std::string> newest = latest_checkpoint(disk, options_.model_dir);
  return newest ? load_variable(disk, *newest, "global_step").scalar<std::int64_t>() : 0;
}

Variable get_or_create_steps_per_run_variable(Graph& graph) {
  const std::vector<Variable> found = graph.collection<Variable>(detail::kStepsPerRun);
  if (found.size() > 1)
    throw FailedPreconditionError("Multiple items in collection {}; there should be one", detail::kStepsPerRun);
  if (!found.empty()) return found.front();
  const Graph::Scope top_level = graph.top_level();
  const Output one = constant(graph, Tensor(std::int32_t{1}), "hooks/steps_per_run/Initializer/ones");
  return make_variable("hooks/steps_per_run", one,
                       {.trainable = false,
                        .collections = {std::string(detail::kStepsPerRun), std::string(graph_keys::kLocalVariables)}});
}

MultiStepStopAtStepHook::MultiStepStopAtStepHook(const Options& options)
    : StopAtStepHook({.num_steps = options.num_steps, .last_step = options.last_step}),
      most_(options.steps_per_run),
      steps_(options.steps_per_run) {
  if (most_ < 1)
    throw InvalidArgumentError("MultiStepStopAtStepHook: steps_per_run is {}; it should be greater than 0", most_);
}

void MultiStepStopAtStepHook::begin(Graph& graph) {
  StopAtStepHook::begin(graph);
  if (!graph.collection<Variable>(detail::kStepsPerRun).empty())
    variable_ = get_or_create_steps_per_run_variable(graph);
}

void MultiStepStopAtStepHook::after_create_session(SessionRef session, Coordinator& coordinator) {
  StopAtStepHook::after_create_session(session, coordinator);
  loaded_ = 0;
  update(session, read_global_step(session, global_step()));
}

void MultiStepStopAtStepHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  StopAtStepHook::after_run(context, values);
  update(context.session(), context.global_step());
}

void MultiStepStopAtStepHook::update(SessionRef session, std::int64_t step) {
  if (step >= *last_step()) return;
  steps_ = static_cast<std::int32_t>((std::min)(*last_step() - step, std::int64_t{most_}));
  if (!variable_.handle.has_value() || steps_ == loaded_) return;
  const NamedTensor number{variable_.name(), Tensor(steps_)};
  session.load({&number, 1});
  loaded_ = steps_;
}

}  // namespace trainhook
