// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, depthwise convolution.
#include <trainhook/engine/kernels.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "run_op.hpp"

namespace trainhook {
namespace {

Attrs attrs(const std::string& padding, std::int64_t stride = 1, std::int64_t dilation = 1) {
  return {{"T", DType::Float},
          {"data_format", std::string("NHWC")},
          {"dilations", std::vector<std::int64_t>{1, dilation, dilation, 1}},
          {"explicit_paddings", std::vector<std::int64_t>{0, 0, 1, 0, 0, 2, 0, 0}},
          {"padding", padding},
          {"strides", std::vector<std::int64_t>{1, stride, stride, 1}}};
}

Tensor run(const std::string& type, const std::vector<Tensor>& inputs, const Attrs& with) {
  return test::run_op(kernels::depthwise(), type, inputs, with, DType::Float);
}

const Tensor kImage = Tensor::of<float>({1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 2, 2});

TEST(DepthwiseKernels, ConvolveEachChannelWithItsOwnFilters) {
  const Tensor filter = Tensor::of<float>({1, 10, 100, 1000}, {1, 1, 2, 2});
  EXPECT_EQ(run("DepthwiseConv2dNative", {kImage, filter}, attrs("VALID")),
            Tensor::of<float>({1, 10, 200, 2000, 3, 30, 400, 4000, 5, 50, 600, 6000, 7, 70, 800, 8000}, {1, 2, 2, 4}));
}

TEST(DepthwiseKernels, PadAsTheAttributeSays) {
  const Tensor filter = Tensor::of<float>({1, 1, 10, 10}, {1, 2, 2, 1});
  EXPECT_EQ(run("DepthwiseConv2dNative", {kImage, filter}, attrs("SAME")),
            Tensor::of<float>({31, 42, 3, 4, 75, 86, 7, 8}, {1, 2, 2, 2}));
  EXPECT_EQ(run("DepthwiseConv2dNative", {kImage, filter}, attrs("EXPLICIT")).shape(), (Shape{1, 3, 3, 2}));
}

TEST(DepthwiseKernels, GradientsReachImageAndFilter) {
  const Tensor filter = Tensor::of<float>({1, 2, 3, 4}, {1, 2, 2, 1});
  const Tensor gradient = Tensor::of<float>({1, 1, 1, 1}, {1, 2, 1, 2});
  EXPECT_EQ(run("DepthwiseConv2dNativeBackpropInput", {Tensor::of<std::int32_t>({1, 2, 2, 2}), filter, gradient},
                attrs("VALID")),
            Tensor::of<float>({1, 2, 3, 4, 1, 2, 3, 4}, {1, 2, 2, 2}));
  EXPECT_EQ(run("DepthwiseConv2dNativeBackpropFilter", {kImage, Tensor::of<std::int32_t>({1, 2, 2, 1}), gradient},
                attrs("VALID")),
            Tensor::of<float>({6, 8, 10, 12}, {1, 2, 2, 1}));
}

TEST(DepthwiseKernels, RefuseWhatTheyDoNotCompute) {
  const Tensor filter(DType::Float, Shape{1, 1, 2, 1});
  EXPECT_THROW(run("DepthwiseConv2dNative", {kImage, filter}, attrs("VALID", 1, 2)), UnimplementedError);
  EXPECT_THROW(run("DepthwiseConv2dNative", {kImage, Tensor(DType::Float, Shape{1, 1, 3, 1})}, attrs("VALID")),
               InvalidArgumentError);
  EXPECT_THROW(run("DepthwiseConv2dNative", {kImage, Tensor(DType::Float, Shape{3, 1, 2, 1})}, attrs("VALID")),
               InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
