// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/compat/multi_step_stop_at_step_hook.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>

namespace trainhook::detail {

inline constexpr std::string_view kStepsPerRun = "hooks_steps_per_run";  // a collection

}  // namespace trainhook::detail

namespace trainhook {

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
