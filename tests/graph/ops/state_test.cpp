// SPDX-License-Identifier: Apache-2.0
/// @file
/// Assignments to variables.
#include <trainhook/graph/ops/state.hpp>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

TEST(StateOps, AssignmentsTakeTheVariableByReference) {
  Graph graph;
  const Variable w = make_variable("w", zeros(graph, {2}));
  const Output updated = assign_add(w, ones(graph, {2}));
  EXPECT_EQ(updated.node().type(), "AssignAdd");
  EXPECT_EQ(updated.node().inputs()[0], w.ref());
  EXPECT_EQ(updated.shape(), PartialShape({2}));
  EXPECT_EQ(assign_sub(w, ones(graph, {2})).node().type(), "AssignSub");
  EXPECT_TRUE(assign(w, ones(graph, {2})).node().attr<bool>("validate_shape"));
}

TEST(StateOps, AssignmentsRefuseWhatDoesNotFit) {
  Graph graph;
  const Variable w = make_variable("w", zeros(graph, {2}));
  testing::expect_error({"'w:0' float32[2]", "float32[3]"}, [&] { assign(w, ones(graph, {3})); });
  testing::expect_error({"differ in dtype"}, [&] { assign(w, ones(graph, {2}, DType::Double)); });
  testing::expect_error({"Assign", "empty"}, [&] { assign(Variable(), ones(graph, {2})); });
}

TEST(StateOps, VariablesInitializerRunsEveryAssign) {
  Graph graph;
  const Variable w = make_variable("w", zeros(graph, {2}));
  const Variable b = make_variable("b", zeros(graph, {2}));
  const Operation init = global_variables_initializer(graph);
  EXPECT_EQ(init.name(), "init");
  ASSERT_EQ(init.node().control_inputs().size(), 2U);
  EXPECT_EQ(init.node().control_inputs()[0], w.initializer);
  EXPECT_EQ(init.node().control_inputs()[1], b.initializer);
  EXPECT_TRUE(local_variables_initializer(graph).node().control_inputs().empty());
}

}  // namespace
}  // namespace trainhook
