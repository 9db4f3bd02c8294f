// SPDX-License-Identifier: Apache-2.0
/// @file
/// What group, tuple and with_dependencies wait for.
#include <trainhook/graph/ops/control_flow.hpp>

#include <vector>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

TEST(ControlFlowOps, GroupWaitsForAllItsOperations) {
  Graph graph;
  const Operation a = no_op(graph, "a");
  const Operation b = no_op(graph, "b");
  const Operation all = group(graph, {a, b}, "all");
  EXPECT_EQ(all.type(), "NoOp");
  ASSERT_EQ(all.node().control_inputs().size(), 2U);
  EXPECT_EQ(all.node().control_inputs()[1], b);
  const Output value = constant(graph, Tensor(1.0F));
  EXPECT_EQ(group(graph, {a, value}).node().control_inputs()[1], value.operation());
}

TEST(ControlFlowOps, TupleGatesEveryTensorBehindAll) {
  Graph graph;
  const Output x = constant(graph, Tensor(1.0F), "x");
  const Output y = constant(graph, Tensor(2.0), "y");
  const std::vector<Output> gated = tuple({x, y}, {no_op(graph, "before")});
  ASSERT_EQ(gated.size(), 2U);
  EXPECT_EQ(gated[0].name(), "tuple/control_dependency:0");
  EXPECT_EQ(gated[1].dtype(), DType::Double);
  const Operation gate = gated[0].node().control_inputs()[0];
  EXPECT_EQ(gate, gated[1].node().control_inputs()[0]);
  EXPECT_EQ(gate.node().control_inputs().size(), 3U);
  testing::expect_error({"tuple"}, [] { tuple({}); });
}

TEST(ControlFlowOps, WithDependenciesPassesTheValueOn) {
  Graph graph;
  const Output x = constant(graph, Tensor(1.0F), "x");
  const Operation before = no_op(graph, "before");
  const Output y = with_dependencies({before}, x);
  EXPECT_EQ(y.node().inputs()[0], x);
  EXPECT_EQ(y.node().control_inputs()[0], before);
  EXPECT_TRUE(identity(x).node().control_inputs().empty()) << "the scope has ended";
}

TEST(ControlFlowOps, AGroupNamesEachOfManyOperationsOnce) {
  Graph graph;
  std::vector<Operation> operations;
  for (int i = 0; i < 100; ++i) operations.push_back(no_op(graph));
  std::vector<Operation> repeated = operations;
  repeated.insert(repeated.end(), operations.rbegin(), operations.rend());
  const auto inputs = group(graph, repeated).node().control_inputs();
  EXPECT_EQ(std::vector<Operation>(inputs.begin(), inputs.end()), operations);
}

}  // namespace
}  // namespace trainhook
