// SPDX-License-Identifier: Apache-2.0
/// @file
/// A registry is a value to which one adds.
#include <trainhook/model/gradient_registry.hpp>

#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/gradients.hpp>
#include <trainhook/model/ops/math.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

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
