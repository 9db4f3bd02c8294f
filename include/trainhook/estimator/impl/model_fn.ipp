// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/estimator/model_fn.hpp>

#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/graph/graph.hpp>

namespace trainhook {

std::string_view name_of(ModeKeys mode) noexcept {
  switch (mode) {
    case ModeKeys::Train: return "train";
    case ModeKeys::Eval: return "eval";
    case ModeKeys::Predict: return "infer";
  }
  return "unknown";
}

void EstimatorSpec::validate(ModeKeys mode) const {
  const auto missing = [mode](std::string_view field) {
    throw InvalidArgumentError("EstimatorSpec: {} is missing, which mode '{}' needs", field, name_of(mode));
  };
  if (mode == ModeKeys::Train && !train_op.has_value()) missing("train_op");
  if (mode == ModeKeys::Predict && predictions.empty()) missing("predictions");
  if (mode == ModeKeys::Predict) return;
  if (!loss.has_value()) missing("loss");
  if (loss.shape().has_rank() && loss.shape().rank() != 0)
    throw InvalidArgumentError("EstimatorSpec: loss must be a scalar, but {} has shape {}", loss.name(), loss.shape());
  for (const NamedMetric& each : eval_metric_ops) {
    if (!each.metric.value.has_value() || !each.metric.update.has_value())
      throw InvalidArgumentError("EstimatorSpec: metric '{}' has no value or no update", each.name);
  }
}

InputFn::InputFn(Dataset dataset)
    : build_([dataset = std::move(dataset)](Graph& graph) { return components_of(graph, dataset); }) {}

std::vector<Output> InputFn::components_of(Graph& graph, const Dataset& dataset) {
  return make_iterator(graph, dataset).get_next();
}

}  // namespace trainhook
