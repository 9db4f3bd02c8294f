// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shapes and errors of products of batches.
#include <trainhook/model/ops/matrix.hpp>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/gradients.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

struct BatchMatMul : ::testing::Test {
  Output in(const PartialShape& shape, std::string_view name = "x") {
    return placeholder(graph, DType::Float, shape, name);
  }
  Graph graph;
};

TEST_F(BatchMatMul, IsWhatMatmulAddsForHigherRanks) {
  const Output y = matmul(in({7, 2, 3}), in({4, 3}), {.transpose_b = true});
  EXPECT_EQ(y.node().type(), "BatchMatMulV2");
  EXPECT_EQ(y.name(), "MatMul:0");
  EXPECT_EQ(y.shape(), PartialShape({7, 2, 4}));
  EXPECT_EQ(matmul(in({2, 3}), in({3, 4})).node().type(), "MatMul");
}

TEST_F(BatchMatMul, BroadcastsTheDimensionsBeforeTheMatrices) {
  EXPECT_EQ(matmul(in({5, 1, 2, 3}), in({6, 3, 4})).shape(), PartialShape({5, 6, 2, 4}));
  EXPECT_EQ(matmul(in({-1, 2, 3}), in({-1, 3, 4})).shape(), PartialShape({-1, 2, 4}));
  EXPECT_FALSE(matmul(in({2, 3, 4}), in(PartialShape())).shape().has_rank());
  expect_error({"'a:0' float32[2,3,4]", "batches"}, [&] { matmul(in({2, 3, 4}, "a"), in({3, 4, 5})); });
}

TEST_F(BatchMatMul, NamesBothInputsThatDoNotFit) {
  expect_error({"'b:0' float32[2,3,4]", "4 and 5"}, [&] { matmul(in({2, 3, 4}, "b"), in({2, 5, 6})); });
  expect_error({"rank 2 or more"}, [&] { matmul(in({2, 3, 4}), in({4})); });
}

TEST_F(BatchMatMul, GradientsHaveTheShapesOfTheFactors) {
  const Output a = in({5, 1, 2, 3}, "a");
  const Output b = in({6, 3, 4}, "b");
  const std::vector<Output> grads = gradients(matmul(a, b), {a, b});
  EXPECT_EQ(grads[0].shape(), a.shape());
  EXPECT_EQ(grads[1].shape(), b.shape());
}

}  // namespace
}  // namespace trainhook
