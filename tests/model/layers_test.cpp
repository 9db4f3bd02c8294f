// SPDX-License-Identifier: Apache-2.0
/// @file
/// Layers and the names of their variables.
#include <trainhook/model/layers.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/ops/nn.hpp>
#include <trainhook/model/ops/random.hpp>

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

TEST(Flatten, KeepsTheBatchAndJoinsTheRest) {
  Graph graph;
  const auto flat = [&](const PartialShape& shape) { return flatten(placeholder(graph, DType::Float, shape)).shape(); };
  EXPECT_EQ(flat({-1, 7, 7, 2}), PartialShape({-1, 98}));
  EXPECT_EQ(flat({4, 3}), PartialShape({4, 3}));
  EXPECT_EQ(flat({4, -1, 2}), PartialShape({4, -1}));
  EXPECT_EQ(flat({-1}), PartialShape({-1, 1}));
  expect_error({"flatten", "known batch"}, [&] { flat({-1, -1}); });
  expect_error({"flatten", "first dimension"}, [&] { flat(PartialShape()); });
}

struct BatchNormalization : ::testing::Test {
  Graph graph;
  Output images = placeholder(graph, DType::Float, {-1, 4, 4, 3}, "images");
  Output rows = placeholder(graph, DType::Double, {-1, 3}, "rows");
};

TEST_F(BatchNormalization, HasTensorFlowsVariables) {
  EXPECT_EQ(batch_normalization(images, "bn").name(), "bn/FusedBatchNormV3:0");
  std::vector<std::string> names;
  for (const Variable& variable : global_variables(graph)) names.push_back(variable.name());
  EXPECT_EQ(names, (std::vector<std::string>{"bn/gamma", "bn/beta", "bn/moving_mean", "bn/moving_variance"}));
  EXPECT_EQ(trainable_variables(graph).size(), 2U);
  EXPECT_TRUE(update_ops(graph).empty()) << "nothing moves outside of training";
}

TEST_F(BatchNormalization, TrainsWithUpdatesThatTheStepMayWaitFor) {
  const Output y = batch_normalization(images, "bn", {.training = true});
  ASSERT_EQ(update_ops(graph).size(), 2U);
  EXPECT_EQ(update_ops(graph)[0].name(), "bn/AssignMovingAvg");
  EXPECT_EQ(y.node().attr<bool>("is_training"), true);
  EXPECT_EQ(y.shape(), images.shape());
}

TEST_F(BatchNormalization, TakesRowsOfAnyFloatingDtype) {
  EXPECT_EQ(batch_normalization(rows, "bn", {.center = false, .training = true}).shape(), rows.shape());
  EXPECT_EQ(trainable_variables(graph).size(), 1U);
  EXPECT_EQ(update_ops(graph).size(), 2U);
}

TEST_F(BatchNormalization, RefusesAnUnknownNumberOfChannels) {
  expect_error({"batch_normalization bn", "[?,?]"}, [&] {
    batch_normalization(placeholder(graph, DType::Float, {-1, -1}), "bn");
  });
}

TEST(Dropout, KeepsTheStaticShape) {
  Graph graph;
  for (const PartialShape& shape : {PartialShape{-1, 10}, PartialShape{-1, -1}, PartialShape{2, 3}}) {
    EXPECT_EQ(dropout(placeholder(graph, DType::Float, shape), 0.5).shape(), shape);
    EXPECT_EQ(
        dropout(placeholder(graph, DType::Float, shape), placeholder(graph, DType::Float, Shape{}, "rate")).shape(),
        shape);
  }
}

}  // namespace
}  // namespace trainhook
