// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shapes and errors of normalization over a batch.
#include <trainhook/model/ops/normalization.hpp>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/gradients.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

struct NormalizationOps : ::testing::Test {
  Output in(const PartialShape& shape) { return placeholder(graph, DType::Float, shape, "x"); }
  Graph graph;
};

TEST_F(NormalizationOps, GiveImagesAndAVectorOfTheChannels) {
  const FusedBatchNorm norm = fused_batch_norm(in({-1, 4, 4, -1}), in({3}), in({3}), in({0}), in({0}));
  EXPECT_EQ(norm.y.shape(), PartialShape({-1, 4, 4, 3}));
  EXPECT_EQ(norm.batch_mean.shape(), PartialShape({3}));
  EXPECT_EQ(norm.batch_variance.name(), "FusedBatchNormV3:2");
}

TEST_F(NormalizationOps, NameTheVectorThatDoesNotFit) {
  testing::expect_error({"float32[4]", "3 channels"}, [&] {
    fused_batch_norm(in({2, 4, 4, 3}), in({3}), in({4}), in({3}), in({3}));
  });
  testing::expect_error({"rank 4"}, [&] { fused_batch_norm(in({2, 3}), in({3}), in({3}), in({3}), in({3})); });
}

TEST_F(NormalizationOps, HaveAGradientOnlyThroughY) {
  const Output x = in({2, 4, 4, 3});
  const Output scale = in({3});
  const FusedBatchNorm norm = fused_batch_norm(x, scale, in({3}), in({0}), in({0}));
  EXPECT_EQ(gradients(norm.y, {scale})[0].node().type(), "FusedBatchNormGradV3");
  EXPECT_FALSE(gradients(norm.batch_mean, {x})[0].has_value());
}

}  // namespace
}  // namespace trainhook
