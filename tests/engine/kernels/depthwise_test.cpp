// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, depthwise convolution.
#include <trainhook/engine/kernels.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
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

Tensor integers(const Shape& shape, int seed) {
  Tensor result(DType::Float, shape);
  for (float& value : result.mutable_data<float>()) value = static_cast<float>((seed = seed * 137 % 10'007) % 7 - 3);
  return result;
}

Tensor sizes(const Shape& shape) {
  Tensor result(DType::Int32, {4});
  for (std::size_t i = 0; i < 4; ++i) result.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(shape[i]);
  return result;
}

/// Calls `visit(element of a depthwise filter, element of the filter [height, width, channels, channels * multiplier]
/// of the same convolution)`.
void for_each_factor(const Shape& filter, const auto& visit) {
  const std::int64_t channels = filter[2];
  const std::int64_t multiplier = filter[3];
  for (std::int64_t i = 0; i < filter.num_elements(); ++i) {
    const std::int64_t channel = i / multiplier % channels;
    const std::int64_t row = i / multiplier;  // of a place and a channel
    visit(static_cast<std::size_t>(i),
          static_cast<std::size_t>(row * channels * multiplier + channel * multiplier + i % multiplier));
  }
}

TEST(DepthwiseKernels, ComputeWhatAConvolutionOfAllChannelsDoes) {
  struct Case {
    Shape image, filter;
    std::int64_t stride;
  };
  for (const Case& c : {Case{{2, 9, 8, 37}, {3, 3, 37, 1}, 1}, Case{{2, 9, 8, 37}, {3, 2, 37, 1}, 2},
                        Case{{1, 9, 8, 5}, {3, 4, 5, 3}, 1}, Case{{2, 7, 8, 5}, {2, 3, 5, 2}, 3},
                        Case{{1, 10, 11, 3}, {7, 7, 3, 1}, 1}, Case{{1, 5, 4, 2}, {1, 1, 2, 2}, 2}}) {
    for (const char* padding : {"SAME", "VALID"}) {
      SCOPED_TRACE(fmt::format("{} {} {} {}", c.image, c.filter, c.stride, padding));
      const Attrs with = attrs(padding, c.stride);
      const Shape full_shape{c.filter[0], c.filter[1], c.filter[2], c.filter[2] * c.filter[3]};
      const Tensor image = integers(c.image, 1);
      const Tensor filter = integers(c.filter, 2);
      Tensor full(DType::Float, full_shape);
      for_each_factor(c.filter, [&](std::size_t from, std::size_t to) {
        full.mutable_data<float>()[to] = filter.data<float>()[from];
      });
      const Tensor result = run("DepthwiseConv2dNative", {image, filter}, with);
      EXPECT_EQ(result, test::run_op(kernels::conv(), "Conv2D", {image, full}, with, DType::Float));
      const Tensor gradient = integers(result.shape(), 3);
      EXPECT_EQ(
          run("DepthwiseConv2dNativeBackpropInput", {sizes(c.image), filter, gradient}, with),
          test::run_op(kernels::conv(), "Conv2DBackpropInput", {sizes(c.image), full, gradient}, with, DType::Float));
      const Tensor of_full = test::run_op(kernels::conv(), "Conv2DBackpropFilter", {image, sizes(full_shape), gradient},
                                          with, DType::Float);
      Tensor of_filter(DType::Float, c.filter);
      for_each_factor(c.filter, [&](std::size_t to, std::size_t from) {
        of_filter.mutable_data<float>()[to] = of_full.data<float>()[from];
      });
      EXPECT_EQ(run("DepthwiseConv2dNativeBackpropFilter", {image, sizes(c.filter), gradient}, with), of_filter);
    }
  }
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
