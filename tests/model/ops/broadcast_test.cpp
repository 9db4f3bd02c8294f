// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shapes of the ops that repeat a tensor.
#include <trainhook/model/ops/broadcast.hpp>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/ops/array.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

struct BroadcastOps : ::testing::Test {
  Output in(const PartialShape& shape, DType dtype = DType::Float) { return placeholder(graph, dtype, shape, "x"); }
  Graph graph;
};

TEST_F(BroadcastOps, FillAndBroadcastToKnowAShapeThatAnotherTensorHas) {
  const Output x = in({-1, 3});
  EXPECT_EQ(fill(shape(x), constant(graph, Tensor(1.0F))).shape(), PartialShape({-1, 3}));
  EXPECT_EQ(broadcast_to(in({3}), shape(x)).shape(), PartialShape({-1, 3}));
  expect_error({"rank 0"}, [&] { fill(shape(x), in({3})); });
}

}  // namespace
}  // namespace trainhook
