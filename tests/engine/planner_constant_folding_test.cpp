// SPDX-License-Identifier: Apache-2.0
/// @file
/// Planner: which values are constants, and what they are.
#include <trainhook/engine/planner.hpp>

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/graph.hpp>

namespace trainhook {
namespace {

NodeSpec floats(const PartialShape& shape) { return {.type = "Fill", .outputs = {{DType::Float, shape}}}; }

// Gives its output so many elements, whatever the node says.
Kernel fill(std::int64_t elements) {
  return [elements](KernelContext& context) { context.output<float>(0, Shape{elements})[0] = 7; };
}

TEST(ConstantFolding, ComputesTheOutputs) {
  Graph graph;
  Node& node = graph.add(floats(Shape{2})).node();
  ASSERT_TRUE(detail::can_be_folded(node, {.type = "Fill"}));
  const std::vector<std::unique_ptr<Tensor>> outputs = detail::fold(node, fill(2), {});
  ASSERT_EQ(outputs.size(), 1);
  EXPECT_EQ(outputs[0]->data<float>()[0], 7);
}

TEST(ConstantFolding, LeavesNodesAloneThatMayGiveSomethingElseNextTime) {
  Graph graph;
  Node& node = graph.add(floats(Shape{2})).node();
  EXPECT_FALSE(detail::can_be_folded(node, {.type = "Fill", .stateful = true}));
  EXPECT_FALSE(detail::can_be_folded(node, {.type = "Fill", .variables = 1}));
  NodeSpec after = floats(Shape{2});
  after.control_inputs = {graph.add({.type = "NoOp"})};
  EXPECT_FALSE(detail::can_be_folded(graph.add(std::move(after)).node(), {.type = "Fill"}));
  EXPECT_FALSE(detail::can_be_folded(graph.add({.type = "NoOp"}).node(), {.type = "NoOp"}));
}

TEST(ConstantFolding, KeepsNothingLarge) {
  Graph graph;
  EXPECT_TRUE(detail::can_be_folded(graph.add(floats(Shape{16384})).node(), {.type = "Fill"}));
  EXPECT_FALSE(detail::can_be_folded(graph.add(floats(Shape{16385})).node(), {.type = "Fill"}));
  Node& unknown = graph.add(floats(PartialShape{-1})).node();
  ASSERT_TRUE(detail::can_be_folded(unknown, {.type = "Fill"}));
  EXPECT_EQ(detail::fold(unknown, fill(16384), {}).size(), 1);
  EXPECT_TRUE(detail::fold(unknown, fill(16385), {}).empty());
}

TEST(ConstantFolding, LeavesAnErrorToTheRun) {
  Graph graph;
  Node& node = graph.add(floats(Shape{2})).node();
  const Kernel failing = [](KernelContext&) { throw InvalidArgumentError("no"); };
  EXPECT_TRUE(detail::fold(node, failing, {}).empty());
}

}  // namespace
}  // namespace trainhook
