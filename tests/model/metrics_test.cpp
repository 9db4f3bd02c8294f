// SPDX-License-Identifier: Apache-2.0
/// @file
/// Streaming metrics: their variables, their names, and what they refuse. Their figures are compared with TensorFlow's
/// in the interop tests.
#include <trainhook/model/metrics.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/graph/variable.hpp>
#include <trainhook/model/ops.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;
using Names = std::vector<std::string>;

Names names_of(const std::vector<Variable>& variables) {
  Names names;
  for (const Variable& variable : variables) names.push_back(variable.name());
  return names;
}

TEST(Metrics, KeepTheirCountsInLocalVariables) {
  Graph graph;
  const Output labels = placeholder(graph, DType::Int64, {4});
  const Output predictions = placeholder(graph, DType::Int64, {4});
  metrics::accuracy(labels, predictions);
  metrics::accuracy(labels, predictions);
  metrics::recall(labels, predictions);
  EXPECT_EQ(names_of(local_variables(graph)),
            (Names{"accuracy/total", "accuracy/count", "accuracy_1/total", "accuracy_1/count",
                   "recall/true_positives/count", "recall/false_negatives/count"}));
  EXPECT_EQ(names_of(graph.collection<Variable>(graph_keys::kMetricVariables)), names_of(local_variables(graph)));
  EXPECT_TRUE(global_variables(graph).empty());
  EXPECT_TRUE(trainable_variables(graph).empty());
}

TEST(Metrics, TakeOneColumnForAVector) {
  Graph graph;
  const Output labels = placeholder(graph, DType::Float, {4});
  const Output predictions = placeholder(graph, DType::Float, {4, 1});
  const StreamingMetric error = metrics::mean_squared_error(labels, predictions, predictions);
  EXPECT_EQ(error.value.shape(), PartialShape(Shape{}));
  EXPECT_EQ(error.update.dtype(), DType::Float);
}

TEST(Metrics, ShapeOfConfusionMatrixIsKnown) {
  Graph graph;
  const Output labels = placeholder(graph, DType::Int64, {kUnknownDim});
  const StreamingMetric matrix = metrics::confusion_matrix(labels, labels, 5);
  EXPECT_EQ(matrix.value.shape(), PartialShape(Shape{5, 5}));
  EXPECT_EQ(matrix.value.dtype(), DType::Double);
}

TEST(Metrics, RefuseShapesThatDoNotAgree) {
  Graph graph;
  const Output labels = placeholder(graph, DType::Float, {4});
  const Output predictions = placeholder(graph, DType::Float, {5});
  expect_error({"accuracy", "[4]", "[5]"}, [&] { metrics::accuracy(labels, predictions); });
  expect_error({"[4]", "[5]"}, [&] { metrics::mean(labels, predictions); });
  expect_error({"mean"}, [&] { metrics::mean(Output()); });
  expect_error({"auc", "num_thresholds 1"}, [&] { metrics::auc(labels, labels, {}, {.num_thresholds = 1}); });
  expect_error({"num_classes 0"}, [&] { metrics::confusion_matrix(labels, labels, 0); });
}

}  // namespace
}  // namespace trainhook
