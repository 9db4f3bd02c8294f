// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shapes and errors of ops that work by indices.
#include <trainhook/model/ops/indexing.hpp>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/gradients.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

struct IndexingOps : ::testing::Test {
  Output in(const PartialShape& shape, DType dtype = DType::Float) { return placeholder(graph, dtype, shape, "x"); }
  Output ints(const PartialShape& shape) { return in(shape, DType::Int32); }
  Graph graph;
};

TEST_F(IndexingOps, GatherNdTakesTheDimensionsThatAreNotNamed) {
  EXPECT_EQ(gather_nd(in({3, 4, 5}), ints({7, 2})).shape(), PartialShape({7, 5}));
  EXPECT_EQ(gather_nd(in({3, 4}), ints({-1, 6, 2})).shape(), PartialShape({-1, 6}));
  EXPECT_FALSE(gather_nd(in({3, 4}), ints({7, -1})).shape().has_rank());
  expect_error({"more dimensions than"}, [&] { gather_nd(in({3, 4}), ints({7, 3})); });
}

TEST_F(IndexingOps, ScatterNdHasTheShapeGiven) {
  const Output shape = constant(graph, Tensor::of<std::int32_t>({8, 5}));
  EXPECT_EQ(scatter_nd(ints({3, 1}), in({3, 5}), shape).shape(), PartialShape({8, 5}));
  expect_error({"does not go with"}, [&] { scatter_nd(ints({3, 1}), in({3, 4}), shape); });
}

TEST_F(IndexingOps, WhereGivesARowOfIndicesForEachElementThatHolds) {
  const Output found = where(in({3, -1}, DType::Bool));
  EXPECT_EQ(found.shape(), PartialShape({-1, 2}));
  EXPECT_EQ(found.dtype(), DType::Int64);
}

TEST_F(IndexingOps, TopKShortensTheLastDimension) {
  const TopK top = top_k(in({-1, 5}), 3);
  EXPECT_EQ(top.values.shape(), PartialShape({-1, 3}));
  EXPECT_EQ(top.indices.dtype(), DType::Int32);
  expect_error({"fewer than 6"}, [&] { top_k(in({2, 5}), 6); });
  expect_error({"-1"}, [&] { top_k(in({2, 5}), -1); });
  expect_error({"rank 1 or more"}, [&] { top_k(in(PartialShape(Shape{})), 1); });
}

TEST_F(IndexingOps, InTopKHasOneAnswerForEachTarget) {
  EXPECT_EQ(in_top_k(in({-1, 5}), ints({4}), 2).shape(), PartialShape({4}));
  EXPECT_EQ(in_top_k(in({4, 5}), in({4}, DType::Int64), 2).node().inputs()[2].dtype(), DType::Int64);
  expect_error({"no target for each row"}, [&] { in_top_k(in({3, 5}), ints({4}), 2); });
}

TEST_F(IndexingOps, SegmentSumDoesNotKnowHowManySegmentsThereAre) {
  EXPECT_EQ(segment_sum(in({6, 5}), ints({6})).shape(), PartialShape({-1, 5}));
  expect_error({"rank 1"}, [&] { segment_sum(in({6, 5}), ints({6, 1})); });
}

TEST_F(IndexingOps, GradientOfTopKNeedsAKnownLastDimension) {
  const Output x = in({2, -1});
  expect_error<UnimplementedError>({"TopKV2", "last dimension"}, [&] { gradients(top_k(x, 2).values, {x}); });
}

}  // namespace
}  // namespace trainhook
