// SPDX-License-Identifier: Apache-2.0
/// @file
/// The global step and the copy of it that hooks fetch.
#include <trainhook/graph/global_step.hpp>

#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

TEST(GlobalStep, IsAnInt64VariableThatIsNotTrained) {
  Graph graph;
  EXPECT_FALSE(get_global_step(graph).has_value());
  const Variable step = get_or_create_global_step(graph);
  EXPECT_EQ(step.name(), "global_step");
  EXPECT_EQ(step.dtype(), DType::Int64);
  EXPECT_TRUE(trainable_variables(graph).empty());
  EXPECT_EQ(global_variables(graph), (std::vector<Variable>{step}));
  EXPECT_EQ(get_or_create_global_step(graph), step);
  expect_error({"already has a global step"}, [&] { create_global_step(graph); });
}

TEST(GlobalStep, IsAtTopLevelWhereverItIsMade) {
  Graph graph;
  const Graph::Scope scope = graph.name_scope("inner");
  EXPECT_EQ(create_global_step(graph).name(), "global_step");
}

TEST(GlobalStep, IsFoundByItsNameIfTheCollectionsAreMissing) {
  Graph graph;
  const Variable made =
      make_variable("global_step", constant(graph, Tensor(std::int64_t{0})), {.trainable = false, .collections = {}});
  const std::optional<Variable> found = get_global_step(graph);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(*found, made);
  EXPECT_EQ(found->read, made.read);
  EXPECT_EQ(found->initializer, made.initializer);
  Graph other;
  constant(other, Tensor(std::int64_t{0}), "global_step");
  EXPECT_FALSE(get_global_step(other).has_value()) << "no variable";
}

TEST(GlobalStep, HasToBeAnIntegerScalar) {
  Graph graph;
  graph.add_to_collection(graph_keys::kGlobalStep, make_variable("s", zeros(graph, {2})));
  expect_error({"'s'", "float32[2]", "create_global_step()", "another name"},
               [&] { static_cast<void>(get_global_step(graph)); });
}

TEST(GlobalStep, IncrementWaitsForTheRead) {
  Graph graph;
  const Variable step = create_global_step(graph);
  const Output next = increment(step, 5);
  const Output read = *get_or_create_global_step_read(graph);
  EXPECT_EQ(next.node().type(), "AssignAdd");
  EXPECT_EQ(next.node().inputs()[1].node().attr<Tensor>("value"), Tensor(std::int64_t{5}));
  ASSERT_EQ(next.node().control_inputs().size(), 1U);
  EXPECT_EQ(next.node().control_inputs()[0], read.operation());
}

}  // namespace
}  // namespace trainhook
