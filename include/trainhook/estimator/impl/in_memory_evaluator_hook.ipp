// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/estimator/in_memory_evaluator_hook.hpp>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/hooks/scaffold.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_context.hpp>
#include <trainhook/session/second_or_step_timer.hpp>

namespace trainhook {

InMemoryEvaluatorHook::InMemoryEvaluatorHook(Estimator estimator, InputFn input_fn, Options options)
    : estimator_(std::make_unique<const Estimator>(std::move(estimator))),
      input_fn_(std::move(input_fn)),
      options_(std::move(options)) {
  if (options_.every_n_iter <= 0)
    throw InvalidArgumentError("InMemoryEvaluatorHook: invalid every_n_iter={}; it must be positive",
                               options_.every_n_iter);
  if (estimator_->config().num_worker_replicas > 1)
    throw InvalidArgumentError(
        "InMemoryEvaluatorHook supports only single machine (no distribution); this estimator has {} workers",
        estimator_->config().num_worker_replicas);
}

InMemoryEvaluatorHook::InMemoryEvaluatorHook(InMemoryEvaluatorHook&& other) noexcept = default;

InMemoryEvaluatorHook::~InMemoryEvaluatorHook() = default;

void InMemoryEvaluatorHook::begin(Graph& graph) {
  global_step_ = detail::require_global_step(graph, "InMemoryEvaluatorHook");
  detail::SessionServices::of(services())
      .claim_metrics(*this, "InMemoryEvaluatorHook", options_.name.empty() ? "eval" : options_.name);
  evaluated_.reset();
  restored_ = false;
  evaluation_ =
      std::make_unique<detail::EvaluationGraph>(estimator_->source(), input_fn_, options_.steps, options_.hooks);
  if (!evaluation_->model().graph->collection<std::shared_ptr<Saveable>>(graph_keys::kSaveableObjects).empty())
    throw InvalidArgumentError("InMemoryEvaluatorHook does not support saveables, which the model for evaluation has");
  const std::shared_ptr<Scaffold>& scaffold = evaluation_->model().spec.scaffold;
  if (scaffold == nullptr) return;
  if (scaffold->saver() != nullptr)
    throw InvalidArgumentError("InMemoryEvaluatorHook does not support custom saver; leave it out of the scaffold");
  if (scaffold->has_init_fn())
    throw InvalidArgumentError("InMemoryEvaluatorHook does not support custom init_fn; leave it out of the scaffold");
}

void InMemoryEvaluatorHook::after_create_session(SessionRef session, Coordinator& /*coordinator*/) {
  starts_ = true;
  if (!std::exchange(restored_, false)) iterations_ = 0;
  const std::int64_t step = read_global_step(session, global_step_);
  const bool is_due = iterations_ % options_.every_n_iter == 0;  // an interruption may have prevented it
  if (is_due && evaluated_ != step) evaluate(session, step);
}

void InMemoryEvaluatorHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  if (++iterations_ % options_.every_n_iter == 0) evaluate(context.session(), context.global_step());
}

void InMemoryEvaluatorHook::end(SessionRef session) {
  const std::int64_t step = read_global_step(session, global_step_);
  if (evaluated_ != step && !services().is_interrupted()) evaluate(session, step, true);
  evaluation_.reset();
}

std::string InMemoryEvaluatorHook::name() const {
  return detail::name_of_state(*this, {}, {options_.name.empty() ? "eval" : options_.name});
}

StateValues InMemoryEvaluatorHook::save_state() {
  StateValues state;
  state.set("iterations", Tensor(iterations_));
  if (evaluated_) state.set("evaluated", Tensor(*evaluated_));
  return state;
}

void InMemoryEvaluatorHook::load_state(const StateValues& state) {
  iterations_ = state.at("iterations").scalar<std::int64_t>();
  const Tensor* evaluated = state.find("evaluated");
  evaluated_ = evaluated != nullptr ? std::optional(evaluated->scalar<std::int64_t>()) : std::nullopt;
  restored_ = true;
}

void InMemoryEvaluatorHook::evaluate(SessionRef session, std::int64_t step, bool is_extra) {
  const detail::BuiltModel& model = evaluation_->model();
  std::vector<std::string> names;
  for (const Variable& variable : global_variables(*model.graph)) names.push_back(variable.name());
  const std::vector<NamedTensor> values = session.snapshot(names);
  const auto scaffold = std::make_shared<Scaffold>(
      ScaffoldOptions{.init_fn = [&values](const Scaffold&, SessionRef evaluated) { evaluated.load(values); },
                      .copy_from_scaffold = model.spec.scaffold});
  detail::evaluate_unless_interrupted([&] {
    const EvalMetrics metrics = evaluation_->run({}, scaffold);
    FileWriter& writer = services().writers().at(estimator_->eval_dir(options_.name));
    if (std::exchange(starts_, false)) writer.restart_at(step);
    detail::write_metrics(writer, metrics, {});
    detail::publish_metrics(services(), options_.name, metrics, is_extra);
    evaluated_ = step;
  });
}

}  // namespace trainhook
