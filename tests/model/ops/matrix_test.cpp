// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shapes and errors of matrix products and reductions.
#include <trainhook/model/ops/matrix.hpp>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

struct MatrixOps : ::testing::Test {
  Output in(const PartialShape& shape, DType dtype = DType::Float, std::string_view name = "x") {
    return placeholder(graph, dtype, shape, name);
  }
  Graph graph;
};

TEST_F(MatrixOps, MatMulInfersItsShapeUnderTransposes) {
  EXPECT_EQ(matmul(in({-1, 3}), in({3, 5})).shape(), PartialShape({-1, 5}));
  EXPECT_EQ(matmul(in({3, -1}), in({5, 3}), {.transpose_a = true, .transpose_b = true}).shape(), PartialShape({-1, 5}));
  EXPECT_EQ(matmul(in({2, -1}), in({3, 5})).shape(), PartialShape({2, 5}));
  EXPECT_EQ(matmul(in(PartialShape()), in({3, 5})).shape(), PartialShape({-1, 5}));
}

TEST_F(MatrixOps, MatMulNamesBothInputsThatDoNotFit) {
  const Output a = in({2, 3}, DType::Float, "a");
  const Output b = in({4, 2}, DType::Float, "b");
  expect_error({"'a:0' float32[2,3]", "'b:0' float32[4,2]", "3 and 4"}, [&] { matmul(a, b); });
  expect_error({"'b:0' float32[4,2] transposed", "3 and 2"}, [&] { matmul(a, b, {.transpose_b = true}); });
}

TEST_F(MatrixOps, MatMulWantsMatricesOfOneDtype) {
  expect_error({"rank 2"}, [&] { matmul(in({3}), in({3, 5})); });
  expect_error({"differ in dtype"}, [&] { matmul(in({2, 3}), in({3, 5}, DType::Double)); });
}

TEST_F(MatrixOps, ReductionsTakeAllAxesUnlessTold) {
  EXPECT_EQ(reduce_mean(in({-1, 3})).shape(), PartialShape(Shape{}));
  EXPECT_EQ(reduce_sum(in({-1, 3}), {.axis = {{-1}}}).shape(), PartialShape({-1}));
  EXPECT_EQ(reduce_max(in({-1, 3}), {.axis = {{0}}, .keep_dims = true}).shape(), PartialShape({1, 3}));
  const Output mean = reduce_mean(in({-1, 3}));
  EXPECT_EQ(mean.node().inputs()[1].node().attr<Tensor>("value"), Tensor::of<std::int32_t>({0, 1}));
  EXPECT_EQ(mean.name(), "Mean_1:0");
}

TEST_F(MatrixOps, ReductionsRefuseBadAxes) {
  expect_error({"axis 2", "[2,3]"}, [&] { reduce_sum(in({2, 3}), {.axis = {{2}}}); });
  expect_error({"named twice"}, [&] { reduce_sum(in({2, 3}), {.axis = {{1, -1}}}); });
  expect_error({"no known rank"}, [&] { reduce_sum(in(PartialShape())); });
  expect_error({"bool"}, [&] { reduce_all(in({2})); });
  EXPECT_FALSE(reduce_sum(in(PartialShape()), {.axis = {{0}}}).shape().has_rank());
}

TEST_F(MatrixOps, ArgMaxGivesIndices) {
  const Output y = argmax(in({-1, 10}), 1);
  EXPECT_EQ(y.dtype(), DType::Int64);
  EXPECT_EQ(y.shape(), PartialShape({-1}));
  EXPECT_EQ(argmax(in({-1, 10}), 1, DType::Int32).dtype(), DType::Int32);
  expect_error({"int32 or int64"}, [&] { argmax(in({2}), 0, DType::Float); });
}

TEST_F(MatrixOps, CumulativeOpsKeepTheShapeAndSayWhichWayTheyGo) {
  const Output y = cumprod(in({-1, 3}), {.axis = 1, .exclusive = true, .reverse = true});
  EXPECT_EQ(y.shape(), PartialShape({-1, 3}));
  EXPECT_TRUE(y.node().attr<bool>("exclusive"));
  EXPECT_TRUE(y.node().attr<bool>("reverse"));
  EXPECT_EQ(y.node().inputs()[1].name(), "Cumprod/axis:0");
  EXPECT_FALSE(cumsum(in({2})).node().attr<bool>("reverse"));
}

}  // namespace
}  // namespace trainhook
