// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shapes and errors of the ops of neural networks.
#include <trainhook/model/ops/nn.hpp>

#include <string>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

struct NnOps : ::testing::Test {
  Output in(const PartialShape& shape, DType dtype = DType::Float, std::string_view name = "x") {
    return placeholder(graph, dtype, shape, name);
  }
  Graph graph;
};

TEST_F(NnOps, BiasAddWantsAVectorOfTheLastDimension) {
  const Output y = bias_add(in({-1, 3}), in({3}));
  EXPECT_EQ(y.shape(), PartialShape({-1, 3}));
  EXPECT_EQ(y.node().attr<std::string>("data_format"), "NHWC");
  expect_error({"float32[4]", "float32[?,3]"}, [&] { bias_add(in({-1, 3}), in({4})); });
  expect_error({"rank 1"}, [&] { bias_add(in({-1, 3}), in({1, 3})); });
  expect_error({"last dimension"}, [&] { bias_add(in({3}), in({3})); });
}

TEST_F(NnOps, ActivationsKeepTheShapeAndWantFloats) {
  EXPECT_EQ(relu(in({-1, 3})).shape(), PartialShape({-1, 3}));
  EXPECT_EQ(leaky_relu(in({2}), 0.3F).node().attr<float>("alpha"), 0.3F);
  expect_error({"Relu", "int32", "floating"}, [&] { relu(in({2}, DType::Int32)); });
  expect_error({"scalar"}, [&] { softmax(in(Shape{})); });
}

TEST_F(NnOps, SparseCrossEntropyTakesLogitsFirstAndGivesLossAndBackprop) {
  const Output labels = in({-1}, DType::Int32, "labels");
  const Output logits = in({-1, 10}, DType::Float, "logits");
  const Output loss = sparse_softmax_cross_entropy_with_logits(labels, logits);
  ASSERT_EQ(loss.node().inputs().size(), 2U);
  EXPECT_EQ(loss.node().inputs()[0], logits);
  EXPECT_EQ(loss.node().inputs()[1], labels);
  EXPECT_EQ(loss.shape(), PartialShape({-1}));
  EXPECT_EQ(loss.operation().output(1).shape(), PartialShape({-1, 10}));
  EXPECT_EQ(loss.node().attr<DType>("Tlabels"), DType::Int32);
}

TEST_F(NnOps, SparseCrossEntropyTakesTheBatchSizeFromEither) {
  EXPECT_EQ(sparse_softmax_cross_entropy_with_logits(in({4}, DType::Int64), in({-1, 3})).shape(), PartialShape({4}));
  expect_error({"[4]", "[5,3]", "batch size"}, [&] {
    sparse_softmax_cross_entropy_with_logits(in({4}, DType::Int32), in({5, 3}));
  });
  expect_error({"rank 1"}, [&] { sparse_softmax_cross_entropy_with_logits(in({4, 1}, DType::Int32), in({4, 3})); });
  expect_error({"int32 or int64"}, [&] { sparse_softmax_cross_entropy_with_logits(in({4}), in({4, 3})); });
  expect_error({"rank 2"}, [&] { sparse_softmax_cross_entropy_with_logits(in({4}, DType::Int32), in({4, 3, 2})); });
}

TEST_F(NnOps, DenseCrossEntropyLetsNoGradientFlowToLabels) {
  const Output loss = softmax_cross_entropy_with_logits(in({-1, 3}), in({4, 3}));
  EXPECT_EQ(loss.node().inputs()[1].node().type(), "StopGradient");
  expect_error({"differ in shape"}, [&] { softmax_cross_entropy_with_logits(in({4, 2}), in({4, 3})); });
}

TEST_F(NnOps, L2LossIsAScalarAndCheckNumericsKeepsItsMessage) {
  EXPECT_EQ(l2_loss(in({2, 3})).shape(), PartialShape(Shape{}));
  EXPECT_EQ(check_numerics(in({2}), "bad loss").node().attr<std::string>("message"), "bad loss");
}

}  // namespace
}  // namespace trainhook
