// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shapes, attributes and errors of convolution and pooling.
#include <trainhook/model/ops/conv.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/gradients.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

struct ConvOps : ::testing::Test {
  Output in(const PartialShape& shape, DType dtype = DType::Float) { return placeholder(graph, dtype, shape, "x"); }
  Graph graph;
};

TEST_F(ConvOps, SameDividesByTheStrideAndValidFitsWindows) {
  EXPECT_EQ(conv2d(in({-1, 7, 8, 3}), in({3, 3, 3, 5}), {.strides = {2, 2}}).shape(), PartialShape({-1, 4, 4, 5}));
  EXPECT_EQ(conv2d(in({-1, 7, 8, 3}), in({3, 2, 3, 5}), {.padding = Padding::Valid}).shape(),
            PartialShape({-1, 5, 7, 5}));
  EXPECT_EQ(max_pool(in({-1, 28, 28, 8})).shape(), PartialShape({-1, 14, 14, 8}));
  EXPECT_EQ(avg_pool(in({-1, -1, 5, 8}), {.ksize = {2, 2}, .strides = {2, 2}, .padding = Padding::Same}).shape(),
            PartialShape({-1, -1, 3, 8}));
}

TEST_F(ConvOps, BearTensorFlowsAttributes) {
  const Output y = conv2d(in({-1, 7, 8, 3}), in({3, 3, 3, 5}), {.strides = {1, 2}});
  EXPECT_EQ(y.node().attr<std::string>("padding"), "SAME");
  EXPECT_EQ(y.node().attr<std::vector<std::int64_t>>("strides"), (std::vector<std::int64_t>{1, 1, 2, 1}));
  EXPECT_EQ(max_pool(in({-1, 4, 4, 1})).node().attr<std::vector<std::int64_t>>("ksize"),
            (std::vector<std::int64_t>{1, 2, 2, 1}));
  EXPECT_FALSE(avg_pool(in({-1, 4, 4, 1})).node().has_attr("explicit_paddings"));
}

TEST_F(ConvOps, RefuseWhatDoesNotFit) {
  expect_error({"[?,7,8,3]", "[3,3,4,5]", "channels"}, [&] { conv2d(in({-1, 7, 8, 3}), in({3, 3, 4, 5})); });
  expect_error({"window of 9"}, [&] { conv2d(in({-1, 7, 8, 3}), in({9, 3, 3, 5}), {.padding = Padding::Valid}); });
  expect_error({"strides [0,1]"}, [&] { conv2d(in({-1, 7, 8, 3}), in({3, 3, 3, 5}), {.strides = {0, 1}}); });
  expect_error({"rank 4"}, [&] { max_pool(in({28, 28})); });
}

TEST_F(ConvOps, ATransposedConvolutionHasGradientsOfConvolutions) {
  const Output sizes = constant(graph, Tensor::of<std::int32_t>({2, 8, 6, 3}));
  const Output filter = placeholder(graph, DType::Float, {3, 3, 3, 2}, "filter");
  const Output x = placeholder(graph, DType::Float, {2, 4, 3, 2}, "x");
  const detail::OpFamily ops = detail::conv_ops();
  const auto transposed = std::ranges::find(ops, "Conv2DBackpropInput", &OpDef::type);
  const Output y =
      detail::add_op(**transposed, {}, {sizes, filter, x},
                     {{"padding", std::string("SAME")}, {"strides", std::vector<std::int64_t>{1, 2, 2, 1}}});
  const std::vector<Output> slopes = gradients(y, {filter, x});
  EXPECT_EQ(slopes[0].node().type(), "Conv2DBackpropFilter");
  EXPECT_EQ(slopes[0].shape(), filter.shape());
  EXPECT_EQ(slopes[1].node().type(), "Conv2D");
  EXPECT_EQ(slopes[1].shape(), x.shape());
}

}  // namespace
}  // namespace trainhook
