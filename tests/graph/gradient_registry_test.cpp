// SPDX-License-Identifier: Apache-2.0
/// @file
/// A registry is a value to which one adds.
#include <trainhook/graph/gradient_registry.hpp>

#include <gtest/gtest.h>

#include <trainhook/graph/gradients.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

TEST(GradientRegistry, HoldsOneFunctionForEachOpType) {
  GradientRegistry registry = default_gradients();
  EXPECT_TRUE(registry.contains("MatMul"));
  EXPECT_FALSE(registry.contains("TrainhookMine"));
  testing::expect_error<AlreadyExistsError>({"MatMul", "replace()"}, [&] { registry.add_not_differentiable("MatMul"); });
  registry.replace("MatMul", [](const GradientContext& context) { return std::vector<Output>(context.input_count()); });
  EXPECT_EQ(registry.op_types().size(), default_gradients().op_types().size());
}

TEST(GradientRegistry, ChangingACopyLeavesTheDefaultsAlone) {
  GradientRegistry registry = default_gradients();
  registry.add_not_differentiable("TrainhookMine");
  EXPECT_FALSE(default_gradients().contains("TrainhookMine"));
}

}  // namespace
}  // namespace trainhook
