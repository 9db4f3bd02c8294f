// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/estimator/evaluation_graph.hpp>

#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/compat/stop_hooks.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/real_numbers.hpp>
#include <trainhook/estimator/evaluate_once.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/hooks/signal_hook.hpp>
#include <trainhook/hooks/text/tensor_text.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/model/metrics.hpp>
#include <trainhook/session/hook_services.hpp>

namespace trainhook::detail {

FileSystem& ModelSource::file_system() const { return *config.file_system; }

CheckpointSource ModelSource::checkpoint_for(const CheckpointSource& wanted, std::string_view purpose) const {
  if (!wanted.empty()) return wanted;
  if (auto newest = latest_checkpoint(file_system(), config.model_dir)) return *std::move(newest);
  log_info("Could not find trained model in model_dir: {}, running initialization to {}.", config.model_dir, purpose);
  return {};
}

BuiltModel::BuiltModel(const ModelSource& source, const InputFn& input_fn, ModeKeys mode)
    : graph(std::make_unique<Graph>()) {
  graph->set_random_seed(source.config.tf_random_seed);
  get_or_create_global_step(*graph);
  spec = source.model_fn({.graph = *graph, .mode = mode, .components = input_fn(*graph)});
  spec.validate(mode);
}

EvaluationGraph::EvaluationGraph(const ModelSource& source, const InputFn& input_fn, std::optional<std::int64_t> steps,
                                 HookList hooks)
    : source_(&source), model_(source, input_fn, ModeKeys::Eval), steps_(steps), hooks_(std::move(hooks)) {
  const EstimatorSpec& spec = model_.spec;
  hooks_.insert(hooks_.end(), spec.evaluation_hooks.begin(), spec.evaluation_hooks.end());
  std::map<std::string, FetchRefs::Item> results;
  std::vector<Operation> updates;
  const auto measure = [&](const std::string& name, const StreamingMetric& metric) {
    if (!results.emplace(name, metric.value).second || name == "global_step")
      throw InvalidArgumentError("EstimatorSpec: two metrics are called '{}'; give each a unique name", name);
    updates.push_back(metric.update.operation());
  };
  for (const NamedMetric& each : spec.eval_metric_ops) measure(each.name, each.metric);
  if (!results.contains("loss")) measure("loss", metrics::mean(spec.loss, {}, "loss_mean"));
  results.emplace("global_step", *get_global_step(*model_.graph));
  eval_op_ = count_evaluations(*model_.graph, std::move(updates));
  final_ops_ = FetchRefs(results);
}

EvalMetrics EvaluationGraph::run(const CheckpointSource& checkpoint, std::shared_ptr<Scaffold> scaffold) {
  HookList hooks = hooks_;
  if (steps_) hooks.emplace_back(StopAfterNEvalsHook(*steps_));
  Graph& graph = *model_.graph;
  std::vector<Tensor> values =
      run_evaluation(graph, [this, &graph] { return source_->engine(graph); }, eval_op_,
                     {.checkpoint_path = checkpoint,
                      .scaffold = scaffold != nullptr ? std::move(scaffold) : model_.spec.scaffold,
                      .final_ops = final_ops_,
                      .hooks = std::move(hooks),
                      .file_system = source_->config.file_system,
                      .clock = source_->config.clock});
  EvalMetrics metrics;
  for (std::size_t i = 0; i < values.size(); ++i) metrics.emplace(final_ops_.entries()[i].tag, std::move(values[i]));
  return metrics;
}

void evaluate_unless_interrupted(FunctionRef<void()> evaluate) {
  try {
    evaluate();
  } catch (const CancelledError& error) {
    if (!interruption()) throw;
    log_info("There is no evaluation now: {}", error.what());
  }
}

void write_metrics(FileWriter& writer, const EvalMetrics& metrics, const std::string& checkpoint_path) {
  const auto step = metrics.at("global_step").scalar<std::int64_t>();
  std::string line;
  for (const auto& [name, value] : metrics)
    line += fmt::format("{}{} = {}", line.empty() ? "" : ", ", name, tensor_text(value));
  log_info("Saving dict for global step {}: {}", step, line);
  for (const auto& [name, value] : metrics) {
    if (name == "global_step") continue;
    if (const std::optional<double> number = tensor_number(value))
      writer.add_scalar(name, *number, step);
    else
      log_info("Skipping summary for {}: it is {} {}, not a number.", name, value.dtype(), value.shape());
  }
  if (!checkpoint_path.empty()) writer.add_text("checkpoint_path", checkpoint_path, step);
}

void publish_metrics(HookServices& services, std::string_view name, const EvalMetrics& metrics, bool is_extra) {
  const auto step = metrics.at("global_step").scalar<std::int64_t>();
  for (const auto& [metric, value] : metrics) {
    if (const std::optional<double> number = tensor_number(value))
      services.publish(fmt::format("{}/{}", name.empty() ? "eval" : name, metric),
                       {.step = step, .value = *number, .is_extra = is_extra});
  }
}

std::string eval_dir_of(const RunConfig& config, std::string_view name) {
  return join_path(config.model_dir, name.empty() ? std::string("eval") : fmt::format("eval_{}", name));
}

}  // namespace trainhook::detail
