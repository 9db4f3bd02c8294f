// SPDX-License-Identifier: Apache-2.0
/// @file
/// A registry is a value to which one adds.
#include <trainhook/graph/gradient_registry.hpp>

#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/graph/gradients.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/math.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

TEST(GradientRegistry, HoldsOneFunctionForEachOpType) {
  GradientRegistry registry = default_gradients();
  EXPECT_TRUE(registry.contains("MatMul"));
  EXPECT_FALSE(registry.contains("TrainhookMine"));
  testing::expect_error<AlreadyExistsError>({"MatMul", "replace()"},
                                            [&] { registry.add_not_differentiable("MatMul"); });
  registry.replace("MatMul", [](const GradientContext& context) { return std::vector<Output>(context.input_count()); });
  EXPECT_EQ(registry.op_types().size(), default_gradients().op_types().size());
}

TEST(GradientRegistry, NamesTheOpWhoseGradientAsksForWhatItDoesNotHave) {
  Graph graph;
  const Output x = constant(graph, Tensor(1.0F), "x");
  const Output y = exp(x, "y");
  const auto with = [](auto asks) {
    GradientRegistry registry = default_gradients();
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

TEST(GradientRegistry, ChangingACopyLeavesTheDefaultsAlone) {
  GradientRegistry registry = default_gradients();
  registry.add_not_differentiable("TrainhookMine");
  EXPECT_FALSE(default_gradients().contains("TrainhookMine"));
}

}  // namespace
}  // namespace trainhook
