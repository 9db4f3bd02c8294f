// SPDX-License-Identifier: Apache-2.0
/// @file
/// Layers and the names of their variables.
#include <trainhook/graph/layers.hpp>

#include <gtest/gtest.h>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

TEST(Dense, HasAKernelAndABiasNamedAfterIt) {
  Graph graph;
  const Output y = dense(placeholder(graph, DType::Float, {-1, 784}, "x"), 128, "hidden");
  EXPECT_EQ(y.name(), "hidden/BiasAdd:0");
  EXPECT_EQ(y.shape(), PartialShape({-1, 128}));
  const std::vector<Variable> variables = trainable_variables(graph);
  ASSERT_EQ(variables.size(), 2U);
  EXPECT_EQ(variables[0].name(), "hidden/kernel");
  EXPECT_EQ(variables[0].shape(), PartialShape({784, 128}));
  EXPECT_EQ(variables[1].name(), "hidden/bias");
}

TEST(Dense, SecondOneOfANameGetsAnother) {
  Graph graph;
  const Output x = placeholder(graph, DType::Float, {-1, 4}, "x");
  dense(x, 4);
  EXPECT_EQ(dense(x, 4).name(), "dense_1/BiasAdd:0");
}

TEST(Dense, TakesAnActivationAndLeavesTheBiasOut) {
  Graph graph;
  const Output y = dense(placeholder(graph, DType::Float, {-1, 4}, "x"), 3, "d",
                         {.activation = [](Output x) { return relu(x); }, .use_bias = false});
  EXPECT_EQ(y.node().type(), "Relu");
  EXPECT_EQ(trainable_variables(graph).size(), 1U);
}

TEST(Dense, RefusesAnUnknownNumberOfFeatures) {
  Graph graph;
  expect_error({"dense d", "[?,?]", "known number"}, [&] {
    dense(placeholder(graph, DType::Float, {-1, -1}), 3, "d");
  });
  expect_error({"units", "0"}, [&] { dense(placeholder(graph, DType::Float, {-1, 3}), 0); });
}

}  // namespace
}  // namespace trainhook
