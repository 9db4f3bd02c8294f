// SPDX-License-Identifier: Apache-2.0
/// @file
/// Moving averages: their variables, and when variables are read.
#include <trainhook/model/moving_averages.hpp>

#include <gtest/gtest.h>

#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/initializers.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

TEST(ExponentialMovingAverage, KeepsAVariableBesideEach) {
  Graph graph;
  const Variable w = get_variable(graph, "w", {2});
  ExponentialMovingAverage average({.decay = 0.9});
  const Operation update = average.apply({w});
  EXPECT_EQ(update.name(), "ExponentialMovingAverage");
  ASSERT_TRUE(average.average(w).has_value());
  EXPECT_EQ(average.average(w)->name(), "w/ExponentialMovingAverage");
  EXPECT_EQ(average.average_name(w), "w/ExponentialMovingAverage");
  EXPECT_EQ(trainable_variables(graph).size(), 1U);
  EXPECT_EQ(graph.collection<Variable>(graph_keys::kMovingAverageVariables), (std::vector<Variable>{w}));
}

TEST(ExponentialMovingAverage, ReadsTheVariableAfterWhatItFollows) {
  Graph graph;
  const Variable w = get_variable(graph, "w", {2});
  const Operation step = graph.add({.type = "NoOp", .name = "step"});
  const Graph::Scope after = graph.control_dependencies({step});
  ExponentialMovingAverage().apply({w});
  const Operation now = graph.operation("ExponentialMovingAverage/now");
  EXPECT_EQ(now.node().inputs()[0], w.ref());
  EXPECT_EQ(now.node().control_inputs()[0], step);
}

TEST(ExponentialMovingAverage, CountsUpdatesAfterWhatItFollows) {
  Graph graph;
  const Variable w = get_variable(graph, "w", {2});
  const Variable step_count = get_or_create_global_step(graph);
  const Operation step = graph.add({.type = "NoOp", .name = "step"});
  const Graph::Scope after = graph.control_dependencies({step});
  ExponentialMovingAverage({.num_updates = step_count}).apply({w});
  const Operation counted = graph.operation("ExponentialMovingAverage/num_updates");
  EXPECT_EQ(counted.node().type(), "Cast");
  const Output now = counted.node().inputs()[0];
  EXPECT_EQ(now.node().inputs()[0], step_count.ref());
  EXPECT_EQ(now.node().control_inputs()[0], step);
}

TEST(ExponentialMovingAverage, CountsWhatIsComputedAsItIs) {
  Graph graph;
  const Variable w = get_variable(graph, "w", {2});
  const Output count = placeholder(graph, DType::Int64, Shape{}, "count");
  ExponentialMovingAverage({.num_updates = count}).apply({w});
  EXPECT_EQ(graph.operation("ExponentialMovingAverage/num_updates").node().inputs()[0], count);
}

TEST(ExponentialMovingAverage, RefusesBadDecaysAndASecondAverage) {
  Graph graph;
  const Variable w = get_variable(graph, "w", {2});
  ExponentialMovingAverage average;
  average.apply({w});
  expect_error({"w", "already"}, [&] { average.apply({w}); });
  expect_error({"decay 1"}, [] { ExponentialMovingAverage({.decay = 1}); });
  expect_error({"at least one"}, [&] { average.apply({}); });
}

}  // namespace
}  // namespace trainhook
