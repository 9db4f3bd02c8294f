// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/metrics.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/operand.hpp>
#include <trainhook/graph/ops/cast.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/model/ops/array.hpp>
#include <trainhook/model/ops/math.hpp>
#include <trainhook/model/ops/matrix.hpp>
#include <trainhook/model/ops/slice.hpp>
#include <trainhook/model/ops/special.hpp>

namespace trainhook::detail {

/// Labels, predictions and weights whose shapes agree.
struct Measured {
  Output labels;
  Output predictions;
  Output weights;
};

/// Without a last dimension of 1 that only one of two has.
inline void squeeze_alike(Output& a, Output& b) {
  if (!a.shape().has_rank() || !b.shape().has_rank()) return;
  if (a.shape().rank() == b.shape().rank() + 1)
    a = squeeze(a, {-1});
  else if (b.shape().rank() == a.shape().rank() + 1)
    b = squeeze(b, {-1});
}

inline Measured measured(std::string_view metric, Output labels, Output predictions, Output weights) {
  graph_of(metric, labels);
  graph_of(metric, predictions);
  squeeze_alike(labels, predictions);
  merged_shape(metric, labels, predictions);
  if (weights.has_value() && weights.shape().has_rank() && weights.shape().rank() > 0)
    squeeze_alike(weights, predictions);
  return {labels, predictions, weights};
}

/// A local variable that starts at zero.
inline Variable metric_variable(Graph& graph, std::string_view name, const Shape& shape = {},
                                DType dtype = DType::Float) {
  return make_variable(
      name, zeros(graph, shape, dtype),
      {.trainable = false,
       .collections = {std::string(graph_keys::kLocalVariables), std::string(graph_keys::kMetricVariables)}});
}

/// `weights` for each element of `values`, which has their dtype in the end.
inline Output weights_for(const Output& values, const Output& weights) {
  return cast(weights, values.dtype()) * ones_like(values);
}

/// The sum of all elements of `values`, weighted, over all batches.
inline StreamingMetric total_of(std::string_view variable, Output values, const Output& weights) {
  Graph& graph = graph_of(variable, values);
  const Variable total = metric_variable(graph, variable);
  if (weights.has_value()) values = values * weights_for(values, weights);
  return {.value = identity(total), .update = assign_add(total, reduce_sum(values))};
}

/// The count of elements for which a condition on booleans holds.
inline StreamingMetric count_of(std::string_view name, const Output& condition, const Output& weights) {
  const Graph::Scope scope = graph_of(name, condition).name_scope(name);
  return total_of("count", cast(condition, DType::Float), weights);
}

/// Which of the four cases of a binary classifier is counted.
inline StreamingMetric count_cases(std::string_view name, const Measured& of, bool label, bool prediction) {
  const auto is = [](const Output& x, bool wanted) {
    const Output truth = cast(x, DType::Bool);
    return wanted ? truth : logical_not(truth);
  };
  return count_of(name, logical_and(is(of.labels, label), is(of.predictions, prediction)), of.weights);
}

/// hits / (hits + misses), of values and of updates.
inline StreamingMetric share_of(const StreamingMetric& hits, const StreamingMetric& misses) {
  return {.value = divide_no_nan(hits.value, hits.value + misses.value, "value"),
          .update = divide_no_nan(hits.update, hits.update + misses.update, "update_op")};
}

/// How often each threshold sorts predictions into one of the four cases: float32 [thresholds].
struct ThresholdCounts {
  Output true_positives;
  Output false_negatives;
  Output true_negatives;
  Output false_positives;
};

/// The same twice: so far, and with this batch.
struct StreamingCounts {
  ThresholdCounts value;
  ThresholdCounts update;
};

/// Slightly below 0, evenly to 1, slightly beyond it.
inline Tensor thresholds(std::int64_t count) {
  constexpr double kBeyond = 1e-7;
  std::vector<float> values = {static_cast<float>(-kBeyond)};
  for (std::int64_t i = 1; i + 1 < count; ++i)
    values.push_back(static_cast<float>(static_cast<double>(i) / static_cast<double>(count - 1)));
  values.push_back(static_cast<float>(1.0 + kBeyond));
  return Tensor::copy_of<float>(values, Shape{count, 1});
}

inline StreamingCounts count_at_thresholds(Graph& graph, const Measured& of, std::int64_t num_thresholds) {
  const Output row = cast(reshape(of.predictions, {1, -1}), DType::Float);
  const Output label = reshape(cast(of.labels, DType::Bool), {1, -1});
  const Output positive = greater(row, constant(graph, thresholds(num_thresholds), "thresholds"));
  Output weights;
  if (of.weights.has_value()) weights = reshape(weights_for(cast(of.predictions, DType::Float), of.weights), {1, -1});
  const auto add = [&](std::string_view name, const Output& condition, Output ThresholdCounts::*member,
                       StreamingCounts& counts) {
    const Variable kept = metric_variable(graph, name, {num_thresholds});
    Output cases = cast(condition, DType::Float);
    if (weights.has_value()) cases = cases * weights;
    counts.value.*member = identity(kept);
    counts.update.*member = assign_add(kept, reduce_sum(cases, {.axis = {{1}}}));
  };
  StreamingCounts counts;
  add("true_positives", logical_and(label, positive), &ThresholdCounts::true_positives, counts);
  add("false_negatives", logical_and(label, logical_not(positive)), &ThresholdCounts::false_negatives, counts);
  add("true_negatives", logical_and(logical_not(label), logical_not(positive)), &ThresholdCounts::true_negatives,
      counts);
  add("false_positives", logical_and(logical_not(label), positive), &ThresholdCounts::false_positives, counts);
  return counts;
}

inline Output area_under(const ThresholdCounts& at, const metrics::AucOptions& options, std::string_view name) {
  constexpr double kTiny = 1e-6;
  const Output recall = (at.true_positives + kTiny) / (at.true_positives + at.false_negatives + kTiny);
  const bool is_roc = options.curve == metrics::Curve::Roc;
  const Output x = is_roc ? at.false_positives / (at.false_positives + at.true_negatives + kTiny) : recall;
  const Output y = is_roc ? recall : (at.true_positives + kTiny) / (at.true_positives + at.false_positives + kTiny);
  const std::int64_t pieces = options.num_thresholds - 1;
  const auto left = [&](const Output& z) { return slice(z, {0}, {pieces}); };
  const auto right = [&](const Output& z) { return slice(z, {1}, {pieces}); };
  return reduce_sum((left(x) - right(x)) * ((left(y) + right(y)) / 2), {}, name);
}

}  // namespace trainhook::detail

namespace trainhook::metrics {

StreamingMetric mean(Output values, Output weights, std::string_view name) {
  Graph& graph = detail::graph_of(name, values);
  const Graph::Scope scope = graph.name_scope(name);
  values = cast(values, DType::Float);
  const Output counted = weights.has_value() ? detail::weights_for(values, weights) : ones_like(values);
  const StreamingMetric total = detail::total_of("total", values, weights);
  const StreamingMetric count = detail::total_of("count", counted, {});
  return {.value = divide_no_nan(total.value, maximum(count.value, 0), "value"),
          .update = divide_no_nan(total.update, maximum(count.update, 0), "update_op")};
}

StreamingMetric accuracy(Output labels, Output predictions, Output weights, std::string_view name) {
  const detail::Measured of = detail::measured(name, labels, predictions, weights);
  return mean(equal(of.labels, cast(of.predictions, of.labels.dtype())), of.weights, name);
}

StreamingMetric mean_absolute_error(Output labels, Output predictions, Output weights, std::string_view name) {
  const detail::Measured of = detail::measured(name, labels, predictions, weights);
  return mean((abs)(of.predictions - cast(of.labels, of.predictions.dtype())), of.weights, name);
}

StreamingMetric mean_squared_error(Output labels, Output predictions, Output weights, std::string_view name) {
  const detail::Measured of = detail::measured(name, labels, predictions, weights);
  return mean(squared_difference(of.predictions, cast(of.labels, of.predictions.dtype())), of.weights, name);
}

StreamingMetric root_mean_squared_error(Output labels, Output predictions, Output weights, std::string_view name) {
  const StreamingMetric squared = mean_squared_error(labels, predictions, weights, name);
  return {.value = sqrt(squared.value), .update = sqrt(squared.update)};
}

StreamingMetric true_positives(Output labels, Output predictions, Output weights, std::string_view name) {
  return detail::count_cases(name, detail::measured(name, labels, predictions, weights), true, true);
}

StreamingMetric true_negatives(Output labels, Output predictions, Output weights, std::string_view name) {
  return detail::count_cases(name, detail::measured(name, labels, predictions, weights), false, false);
}

StreamingMetric false_positives(Output labels, Output predictions, Output weights, std::string_view name) {
  return detail::count_cases(name, detail::measured(name, labels, predictions, weights), false, true);
}

StreamingMetric false_negatives(Output labels, Output predictions, Output weights, std::string_view name) {
  return detail::count_cases(name, detail::measured(name, labels, predictions, weights), true, false);
}

StreamingMetric precision(Output labels, Output predictions, Output weights, std::string_view name) {
  const detail::Measured of = detail::measured(name, labels, predictions, weights);
  const Graph::Scope scope = detail::graph_of(name, of.labels).name_scope(name);
  const StreamingMetric hits = detail::count_cases("true_positives", of, true, true);
  return detail::share_of(hits, detail::count_cases("false_positives", of, false, true));
}

StreamingMetric recall(Output labels, Output predictions, Output weights, std::string_view name) {
  const detail::Measured of = detail::measured(name, labels, predictions, weights);
  const Graph::Scope scope = detail::graph_of(name, of.labels).name_scope(name);
  const StreamingMetric hits = detail::count_cases("true_positives", of, true, true);
  return detail::share_of(hits, detail::count_cases("false_negatives", of, true, false));
}

StreamingMetric auc(Output labels, Output predictions, Output weights, const AucOptions& options,
                    std::string_view name) {
  if (options.num_thresholds < 2)
    throw InvalidArgumentError("{}: num_thresholds {} must be at least 2", name, options.num_thresholds);
  const detail::Measured of = detail::measured(name, labels, predictions, weights);
  Graph& graph = detail::graph_of(name, of.labels);
  const Graph::Scope scope = graph.name_scope(name);
  const detail::StreamingCounts counts = detail::count_at_thresholds(graph, of, options.num_thresholds);
  return {.value = detail::area_under(counts.value, options, "value"),
          .update = detail::area_under(counts.update, options, "update_op")};
}

StreamingMetric confusion_matrix(Output labels, Output predictions, std::int64_t num_classes, Output weights,
                                 std::string_view name) {
  if (num_classes < 1) throw InvalidArgumentError("{}: num_classes {} must be positive", name, num_classes);
  const detail::Measured of = detail::measured(name, labels, predictions, weights);
  Graph& graph = detail::graph_of(name, of.labels);
  const Graph::Scope scope = graph.name_scope(name);
  const Variable total =
      detail::metric_variable(graph, "total_confusion_matrix", {num_classes, num_classes}, DType::Double);
  const auto rows = [&](const Output& x) {
    return one_hot(reshape(cast(x, DType::Int64), {-1}), num_classes, {.dtype = DType::Double});
  };
  Output label = rows(of.labels);
  if (of.weights.has_value()) {
    const Output each = detail::weights_for(cast(of.labels, DType::Double), of.weights);
    label = label * reshape(each, {-1, 1});
  }
  return {.value = identity(total, "value"),
          .update = assign_add(total, matmul(label, rows(of.predictions), {.transpose_a = true}), "update_op")};
}

}  // namespace trainhook::metrics
