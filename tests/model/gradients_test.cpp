// SPDX-License-Identifier: Apache-2.0
/// @file
/// Which nodes gradients() adds, and where it stops; a registry is a value to which one adds.
#include <trainhook/model/gradients.hpp>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/cast.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/model/ops/array.hpp>
#include <trainhook/model/ops/math.hpp>
#include <trainhook/model/ops/matrix.hpp>
#include <trainhook/model/ops/nn.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

/// The op types that computing `y` runs, constants aside.
std::multiset<std::string> ops_behind(const Output& y, const std::set<const Node*>& known) {
  std::set<const Node*> seen;
  std::vector<const Node*> open{&y.node()};
  std::multiset<std::string> types;
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (known.contains(node) || !seen.insert(node).second) continue;
    if (node->type() != "Const") types.insert(node->type());
    for (const Output& input : node->inputs()) open.push_back(&input.node());
  }
  return types;
}

std::set<const Node*> nodes_of(const Graph& graph) {
  std::set<const Node*> nodes;
  for (const Node& node : graph.nodes()) nodes.insert(&node);
  return nodes;
}

struct Gradients : ::testing::Test {
  Output in(const PartialShape& shape, std::string_view name = "x") {
    return placeholder(graph, DType::Float, shape, name);
  }

  /// The op types of the gradient of the mean loss of a linear classifier for its kernel.
  std::multiset<std::string> classifier_ops(std::int64_t batch) {
    const Output kernel = in({4, 3}, "kernel");
    const Output labels = placeholder(graph, DType::Int32, {batch}, "labels");
    const Output logits = matmul(in({batch, 4}), kernel);
    const Output loss = reduce_mean(sparse_softmax_cross_entropy_with_logits(labels, logits));
    const std::set<const Node*> forward = nodes_of(graph);
    return ops_behind(gradients(loss, {kernel})[0], forward);
  }
  Graph graph;
};

using Types = std::multiset<std::string>;

TEST_F(Gradients, OfAMeanLossWithAnUnknownBatchTakeFiveNodes) {
  EXPECT_EQ(classifier_ops(-1), (Types{"Size", "Cast", "RealDiv", "Mul", "MatMul"}));
}

TEST_F(Gradients, OfAMeanLossWithAKnownBatchTakeThreeNodes) {
  EXPECT_EQ(classifier_ops(8), (Types{"RealDiv", "Mul", "MatMul"}));
}

TEST_F(Gradients, AreNotComputedForInputsThatWereNotAskedFor) {
  const Output w = in({4, 3}, "w");
  const Output y = matmul(in({-1, 4}), w);
  const std::size_t before = graph.size();
  gradients(y, {w});
  EXPECT_EQ(graph.size() - before, 2U) << "one OnesLike, one MatMul";
}

TEST_F(Gradients, OfRootsAreTensorFlowsOps) {
  const Output x = in({3});
  const Output y = sqrt(x);
  const Output dy = in({3}, "dy");
  const Output dx = gradients(y, {x}, {.grad_ys = {dy}})[0];
  EXPECT_EQ(dx.node().type(), "SqrtGrad");
  EXPECT_EQ(dx.node().inputs()[0], y);
  EXPECT_EQ(dx.node().inputs()[1], dy);
  EXPECT_EQ(gradients(rsqrt(x), {x})[0].node().type(), "RsqrtGrad");
  EXPECT_EQ(gradients(reciprocal(x), {x})[0].node().type(), "ReciprocalGrad");
}

TEST_F(Gradients, AddUpIfAValueIsUsedTwice) {
  const Output x = in({3});
  const Output dx = gradients(sigmoid(x) + relu(x), {x})[0];
  EXPECT_EQ(dx.node().type(), "AddN");
  EXPECT_EQ(dx.shape(), PartialShape({3}));
}

TEST_F(Gradients, AreWithoutValueIfNothingDepends) {
  const Output x = in({3});
  const Output other = in({3}, "other");
  const std::vector<Output> found = gradients(square(x), {x, other});
  EXPECT_TRUE(found[0].has_value());
  EXPECT_FALSE(found[1].has_value());
  EXPECT_FALSE(gradients(stop_gradient(x) + other, {x})[0].has_value());
  EXPECT_FALSE(gradients(cast(argmax(x, 0), DType::Float), {x})[0].has_value());
}

TEST_F(Gradients, StopWhereTheyAreTold) {
  const Output x = in({3});
  const Output y = square(x);
  EXPECT_FALSE(gradients(exp(y), {x}, {.stop_gradients = {y}})[0].has_value());
}

TEST_F(Gradients, OfAnInnerValueDoNotGoBeyondIt) {
  const Output x = in({3});
  const Output y = exp(x);
  const std::vector<Output> found = gradients(square(y), {y});
  EXPECT_EQ(found[0].node().type(), "Mul");
  EXPECT_FALSE(graph.find_operation("gradients/Exp_grad/Mul").has_value());
}

TEST_F(Gradients, StartFromOnesOrFromWhatIsGiven) {
  const Output x = in({3});
  EXPECT_EQ(gradients(x, {x})[0].node().type(), "Const");
  const Output given = in({3}, "given");
  EXPECT_EQ(gradients(x, {x}, {.grad_ys = {given}})[0], given);
  const Output wrong = in({2}, "wrong");
  expect_error({"'wrong:0'", "differ in shape"}, [&] { gradients(x, {x}, {.grad_ys = {wrong}}); });
}

TEST_F(Gradients, SumOverWhatWasBroadcast) {
  const Output x = in({-1, 3});
  const Output row = in({3}, "row");
  const Output dx = gradients(x * row, {row})[0];
  EXPECT_EQ(dx.node().type(), "Sum");
  EXPECT_EQ(dx.shape(), PartialShape({3}));
}

TEST_F(Gradients, AskAtRunTimeIfShapesAreUnknown) {
  const Output x = in({-1});
  const Output dx = gradients(x * in({-1}, "y"), {x})[0];
  EXPECT_EQ(dx.node().type(), "Reshape");
  EXPECT_EQ(dx.shape(), PartialShape({-1}));
  bool has_args = false;
  for (const Node& node : graph.nodes()) has_args = has_args || node.type() == "BroadcastGradientArgs";
  EXPECT_TRUE(has_args);
}

TEST_F(Gradients, LieUnderTheirOwnScopes) {
  const Output x = in({3});
  EXPECT_EQ(gradients(relu(x), {x})[0].name(), "gradients/Relu_grad/ReluGrad:0");
  EXPECT_EQ(gradients(relu(x), {x}, {.name = "d"})[0].name(), "d/Relu_1_grad/ReluGrad:0");
}

TEST_F(Gradients, NameTheOpThatHasNoneAndTakeAUsersOwn) {
  const Output x = in({3});
  const Output y =
      graph.add({.type = "TrainhookTwice", .name = "twice", .inputs = {x}, .outputs = {{DType::Float, Shape{3}}}})
          .output();
  expect_error<NotFoundError>({"TrainhookTwice", "twice", "GradientRegistry"}, [&] { gradients(y, {x}); });
  GradientRegistry registry;
  registry.add("TrainhookTwice",
               [](const GradientContext& context) { return std::vector<Output>{context.grad() * 2}; });
  EXPECT_EQ(gradients(y, {x}, {.registry = registry})[0].node().type(), "Mul");
}

TEST_F(Gradients, RefuseIntegersAndOtherGraphs) {
  Graph other;
  const Output x = in({3});
  expect_error({"floating"}, [&] { gradients(cast(x, DType::Int32), {x}); });
  expect_error({"another graph"}, [&] { gradients(x, {placeholder(other, DType::Float, {3})}); });
  expect_error({"at least one y"}, [&] { gradients(std::vector<Output>{}, {x}); });
}

TEST(GradientRegistry, HoldsOneFunctionForEachOpType) {
  GradientRegistry registry;
  registry.add_not_differentiable("TrainhookMine");
  testing::expect_error<AlreadyExistsError>({"TrainhookMine", "replace()"},
                                            [&] { registry.add_not_differentiable("TrainhookMine"); });
}

TEST(GradientRegistry, ReplacesTheRuleOfADefinitionOnlyIfToldTo) {
  Graph graph;
  const Output x = constant(graph, Tensor(1.0F), "x");
  const Output y = exp(x, "y");
  GradientRegistry registry;
  registry.add_not_differentiable("Exp");
  testing::expect_error<AlreadyExistsError>({"Exp", "replace()"},
                                            [&] { static_cast<void>(gradients(y, {x}, {.registry = registry})); });
  registry.replace("Exp", [](const GradientContext& context) { return std::vector<Output>(context.input_count()); });
  EXPECT_FALSE(gradients(y, {x}, {.registry = registry})[0].has_value());
  EXPECT_TRUE(gradients(y, {x})[0].has_value());
}

TEST(GradientRegistry, NamesTheOpWhoseGradientAsksForWhatItDoesNotHave) {
  Graph graph;
  const Output x = constant(graph, Tensor(1.0F), "x");
  const Output y = exp(x, "y");
  const auto with = [](auto asks) {
    GradientRegistry registry;
    registry.replace("Exp", [asks](const GradientContext& context) {
      static_cast<void>(asks(context));
      return std::vector<Output>{context.grad()};
    });
    return registry;
  };
  const auto refused = [&](std::string_view what, const GradientRegistry& registry) {
    testing::expect_error<InvalidArgumentError>({"y (Exp)", what},
                                                [&] { static_cast<void>(gradients(y, {x}, {.registry = registry})); });
  };
  refused("number 1 of its 1 inputs", with([](const GradientContext& context) { return context.input(1); }));
  refused("number 2 of its 1 inputs", with([](const GradientContext& context) { return context.needs(2); }));
  refused("number 1 of its 1 outputs", with([](const GradientContext& context) { return context.grad(1); }));
}

}  // namespace
}  // namespace trainhook
