// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shapes and errors of the ops that rearrange and select.
#include <trainhook/model/ops/array.hpp>

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/ops/join.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

struct ArrayOps : ::testing::Test {
  Output in(const PartialShape& shape, DType dtype = DType::Float) { return placeholder(graph, dtype, shape, "x"); }
  Graph graph;
};

TEST_F(ArrayOps, ShapeAndSizeAreInt32) {
  EXPECT_EQ(shape(in({-1, 3})).shape(), PartialShape({2}));
  EXPECT_EQ(shape(in(Shape{})).shape(), PartialShape({0}));
  EXPECT_EQ(shape(in(PartialShape())).shape(), PartialShape({kUnknownDim}));
  EXPECT_EQ(size(in({-1, 3})).shape(), PartialShape(Shape{}));
}

TEST_F(ArrayOps, ReshapeInfersTheDimensionThatIsLeft) {
  EXPECT_EQ(reshape(in({2, 6}), {-1, 3}).shape(), PartialShape({4, 3}));
  EXPECT_EQ(reshape(in({-1, 6}), {-1, 3}).shape(), PartialShape({-1, 3}));
  EXPECT_EQ(reshape(in({2, 6}), {12}).shape(), PartialShape({12}));
  EXPECT_EQ(reshape(in({1}), std::vector<std::int64_t>{}).shape(), PartialShape(Shape{}));
  EXPECT_EQ(reshape(in({-1, 6}), shape(in({-1, 3, 2}))).shape().rank(), 3U);
}

TEST_F(ArrayOps, ReshapeRefusesWhatCannotBe) {
  expect_error({"'x:0' float32[2,6]", "[5]"}, [&] { reshape(in({2, 6}), {5}); });
  expect_error({"[?,5]"}, [&] { reshape(in({2, 6}), {-1, 5}); });
  expect_error({"one dimension"}, [&] { reshape(in({2, 6}), {-1, -1}); });
  expect_error({"int32 or int64"}, [&] { reshape(in({2}), in({1})); });
}

TEST_F(ArrayOps, TransposeReversesWithoutAPermutation) {
  EXPECT_EQ(transpose(in({-1, 3, 2})).shape(), PartialShape({2, 3, -1}));
  EXPECT_EQ(transpose(in({-1, 3, 2}), {1, 0, 2}).shape(), PartialShape({3, -1, 2}));
  expect_error({"rank 3"}, [&] { transpose(in({2, 2}), {0, 1, 2}); });
  expect_error({"not a permutation"}, [&] { transpose(in({2, 2}), {0, 0}); });
  expect_error({"no known rank"}, [&] { transpose(in(PartialShape())); });
}

TEST_F(ArrayOps, ConcatAddsUpAlongTheAxis) {
  EXPECT_EQ(concat({in({-1, 3}), in({4, 2})}, 1).shape(), PartialShape({4, 5}));
  EXPECT_EQ(concat({in({-1, 3}), in({4, 3})}, 0).shape(), PartialShape({-1, 3}));
  EXPECT_EQ(concat({in({2, 3}), in({2, 3})}, -1).shape(), PartialShape({2, 6}));
  expect_error({"[2,3]", "[3,3]"}, [&] { concat({in({2, 3}), in({3, 3})}, 1); });
  expect_error({"differ in dtype"}, [&] { concat({in({2}), in({2}, DType::Double)}, 0); });
  expect_error({"axis 2"}, [&] { concat({in({2, 3})}, 2); });
  expect_error({"at least one"}, [&] { concat({}, 0); });
  EXPECT_EQ(concat({in({2, 3})}, 1).node().type(), "Identity");
}

TEST_F(ArrayOps, StackExpandDimsAndSqueezeChangeTheRank) {
  EXPECT_EQ(stack({in({3}), in({3})}).shape(), PartialShape({2, 3}));
  EXPECT_EQ(stack({in({3}), in({3})}, -1).shape(), PartialShape({3, 2}));
  EXPECT_EQ(expand_dims(in({-1, 3}), -1).shape(), PartialShape({-1, 3, 1}));
  EXPECT_EQ(expand_dims(in({-1, 3}), 0).shape(), PartialShape({1, -1, 3}));
  EXPECT_EQ(squeeze(in({4, 1, 3, 1}), {1, -1}).shape(), PartialShape({4, 3}));
  EXPECT_EQ(squeeze(in({4, 1, 3, 1})).shape(), PartialShape({4, 3}));
  EXPECT_FALSE(squeeze(in({-1, 1})).shape().has_rank()) << "the first dimension may turn out 1";
  expect_error({"dimension 0", "not 1"}, [&] { squeeze(in({4, 1}), {0}); });
  expect_error({"axis 4"}, [&] { expand_dims(in({2}), 4); });
}

TEST_F(ArrayOps, OneHotAddsADimensionOfItsDepth) {
  EXPECT_EQ(one_hot(in({-1}, DType::Int32), 10).shape(), PartialShape({-1, 10}));
  EXPECT_EQ(one_hot(in({-1}, DType::Int64), 10, {.dtype = DType::Double, .axis = 0}).shape(), PartialShape({10, -1}));
  expect_error({"uint8, int32 or int64"}, [&] { one_hot(in({2}), 3); });
  expect_error({"depth -1"}, [&] { one_hot(in({2}, DType::Int32), -1); });
}

TEST_F(ArrayOps, GatherPutsTheIndicesShapeInPlaceOfTheAxis) {
  const Output ids = in({-1, 2}, DType::Int32);
  EXPECT_EQ(gather(in({5, 3}), ids).shape(), PartialShape({-1, 2, 3}));
  EXPECT_EQ(gather(in({5, 3}), ids, 1).shape(), PartialShape({5, -1, 2}));
  expect_error({"int32 or int64"}, [&] { gather(in({5, 3}), in({2})); });
}

}  // namespace
}  // namespace trainhook
