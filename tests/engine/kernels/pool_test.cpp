// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, pooling.
#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plain_pooling.hpp"
#include "run_op.hpp"

namespace trainhook {
namespace {

Tensor run(const std::string& type, const std::vector<Tensor>& inputs, std::string padding) {
  const std::vector<std::int64_t> two{1, 2, 2, 1};
  return test::run_op(kernels::pool(), type, inputs,
                      {{"T", DType::Float},
                       {"data_format", std::string("NHWC")},
                       {"ksize", two},
                       {"padding", std::move(padding)},
                       {"strides", two}},
                      DType::Float);
}

const Tensor kImage = Tensor::of<float>({1, 9, 3, 4, 5, 6, 7, 8, 9}, {1, 3, 3, 1});

TEST(PoolKernels, TakeTheLargestOrTheMeanOfEachWindow) {
  EXPECT_EQ(run("MaxPool", {kImage}, "VALID"), Tensor::of<float>({9}, {1, 1, 1, 1}));
  EXPECT_EQ(run("MaxPool", {kImage}, "SAME"), Tensor::of<float>({9, 6, 8, 9}, {1, 2, 2, 1}));
  EXPECT_EQ(run("AvgPool", {kImage}, "SAME"), Tensor::of<float>({4.75F, 4.5F, 7.5F, 9}, {1, 2, 2, 1}));
}

TEST(PoolKernels, GiveTheGradientToTheFirstOfTheLargest) {
  const Tensor image = Tensor::of<float>({7, 7, 1, 7}, {1, 2, 2, 1});
  EXPECT_EQ(
      run("MaxPoolGrad", {image, Tensor::of<float>({7}, {1, 1, 1, 1}), Tensor::of<float>({3}, {1, 1, 1, 1})}, "VALID"),
      Tensor::of<float>({3, 0, 0, 0}, {1, 2, 2, 1}));
}

TEST(PoolKernels, GiveNoGradientToPixelsOutsideOfAllWindows) {
  EXPECT_EQ(
      run("MaxPoolGrad", {kImage, Tensor::of<float>({9}, {1, 1, 1, 1}), Tensor::of<float>({3}, {1, 1, 1, 1})}, "VALID"),
      Tensor::of<float>({0, 3, 0, 0, 0, 0, 0, 0, 0}, {1, 3, 3, 1}));
}

TEST(PoolKernels, ShareTheGradientOfAMean) {
  EXPECT_EQ(run("AvgPoolGrad", {Tensor::of<std::int32_t>({1, 3, 3, 1}), Tensor::of<float>({4, 2, 6, 1}, {1, 2, 2, 1})},
                "SAME"),
            Tensor::of<float>({1, 1, 1, 1, 1, 1, 3, 3, 1}, {1, 3, 3, 1}));
}

/// The values of an image in each of so many channels.
Tensor repeated(const Tensor& image, std::int64_t channels) {
  const Shape& shape = image.shape();
  Tensor result(DType::Float, {shape[0], shape[1], shape[2], channels});
  float* to = result.mutable_data<float>().data();
  for (const float value : image.data<float>()) to = std::fill_n(to, channels, value);
  return result;
}

TEST(PoolKernels, TakeNanAndMinusInfinityForLessThanAnyNumberAsTensorFlowDoes) {
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  const Tensor image = Tensor::of<float>({NAN, 1, 1, NAN, -INFINITY, -INFINITY, NAN, INFINITY,  //
                                          2, 2, 2, 1, -INFINITY, -INFINITY, NAN, NAN},
                                         {1, 2, 8, 1});
  const Tensor gradient = Tensor::of<float>({1, 2, 3, 4}, {1, 1, 4, 1});
  for (const std::int64_t channels : {1, 5, 16, 37}) {
    const Tensor largest = run("MaxPool", {repeated(image, channels)}, "VALID");
    EXPECT_EQ(largest, repeated(Tensor::of<float>({2, 2, kLowest, INFINITY}, {1, 1, 4, 1}), channels));
    const Tensor of_nan = Tensor::of<float>({NAN, NAN, NAN, NAN}, {1, 2, 2, 1});
    EXPECT_EQ(run("MaxPool", {repeated(of_nan, channels)}, "VALID"),
              repeated(Tensor::of<float>({kLowest}, {1, 1, 1, 1}), channels));
    EXPECT_EQ(run("MaxPoolGrad", {repeated(image, channels), largest, repeated(gradient, channels)}, "VALID"),
              repeated(Tensor::of<float>({1, 0, 0, 0, 3, 0, 4, 0,  //
                                          0, 0, 2, 0, 0, 0, 0, 0},
                                         {1, 2, 8, 1}),
                       channels));
  }
}

TEST(PoolKernels, TakeMeansOfNanAndInfinity) {
  const Tensor image = Tensor::of<float>({NAN, 1, INFINITY, 1, INFINITY, 1,  //
                                          1, 1, 1, 1, -INFINITY, 1},
                                         {1, 2, 6, 1});
  for (const std::int64_t channels : {1, 16, 19}) {
    const Tensor mean = run("AvgPool", {repeated(image, channels)}, "VALID");
    for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
      const auto at = [&](std::size_t window) {
        return mean.data<float>()[window * static_cast<std::size_t>(channels) + c];
      };
      EXPECT_TRUE(std::isnan(at(0)));
      EXPECT_EQ(at(1), INFINITY);
      EXPECT_TRUE(std::isnan(at(2)));
    }
  }
}

/// A tensor with so many channels, made of `one`, which has one: the second has twice its values, and so on.
Tensor in_channels(const Tensor& one, std::int64_t channels) {
  const Shape& shape = one.shape();
  Tensor result(DType::Float, {shape[0], shape[1], shape[2], channels});
  float* to = result.mutable_data<float>().data();
  for (const float value : one.data<float>()) {
    for (std::int64_t c = 1; c <= channels; ++c) *to++ = value * static_cast<float>(c);
  }
  return result;
}

TEST(PoolKernels, TakeEachChannelByItself) {
  const Tensor image = Tensor::of<float>({1, 9, 3, 4, 5, 6, 7, 8, -9, 5, 3, 2, 0, -1, 7, 7, 2, 1}, {2, 3, 3, 1});
  const Tensor gradient = Tensor::of<float>({4, -2, 8, 12, 16, 20, -4, 0}, {2, 2, 2, 1});
  const Tensor largest = run("MaxPool", {image}, "SAME");
  for (const std::int64_t channels : {2, 3, 16, 37}) {
    const Tensor images = in_channels(image, channels);
    const Tensor gradients = in_channels(gradient, channels);
    EXPECT_EQ(run("MaxPool", {images}, "SAME"), in_channels(largest, channels));
    EXPECT_EQ(run("MaxPoolGrad", {images, in_channels(largest, channels), gradients}, "SAME"),
              in_channels(run("MaxPoolGrad", {image, largest, gradient}, "SAME"), channels));
    EXPECT_EQ(run("AvgPool", {images}, "SAME"), in_channels(run("AvgPool", {image}, "SAME"), channels));
    const auto sizes = [](std::int32_t last) { return Tensor::of<std::int32_t>({2, 3, 3, last}); };
    EXPECT_EQ(run("AvgPoolGrad", {sizes(static_cast<std::int32_t>(channels)), gradients}, "SAME"),
              in_channels(run("AvgPoolGrad", {sizes(1), gradient}, "SAME"), channels));
  }
}

TEST(PoolKernels, GiveWhatPlainArraysOfEigenGive) {
  struct Case {
    std::int64_t height, width, channels, size, stride;
  };
  for (const Case& c : {Case{6, 8, 16, 2, 2}, Case{7, 5, 3, 2, 2}, Case{9, 8, 37, 3, 2}, Case{5, 7, 20, 3, 1},
                        Case{8, 9, 1, 2, 3}, Case{4, 4, 17, 4, 4}}) {
    for (const std::string padding : {"VALID", "SAME"}) {
      SCOPED_TRACE(padding + " window " + std::to_string(c.size) + " by " + std::to_string(c.stride));
      const auto random = [](const Shape& shape) {  // some are equal; all sums and means are exact
        std::mt19937 bits(7);
        Tensor tensor(DType::Float, shape);
        for (float& value : tensor.mutable_data<float>()) value = 144 * (static_cast<float>(bits() % 16) - 8);
        return tensor;
      };
      test::PlainPooling plain({2, c.height, c.width, c.channels}, c.size, c.stride, padding == "SAME");
      const auto [batch, height, width, channels] = plain.result_shape();
      const Shape small{batch, height, width, channels};
      const auto tensor = [](const test::PlainPooling::Array& array, const Shape& shape) {
        return Tensor::copy_of(std::span(array.data(), static_cast<std::size_t>(array.size())), shape);
      };
      const std::vector<std::int64_t> size{1, c.size, c.size, 1};
      const std::vector<std::int64_t> strides{1, c.stride, c.stride, 1};
      const auto ours = [&](const std::string& type, const std::vector<Tensor>& inputs) {
        return test::run_op(kernels::pool(), type, inputs,
                            {{"T", DType::Float},
                             {"data_format", std::string("NHWC")},
                             {"ksize", size},
                             {"padding", padding},
                             {"strides", strides}},
                            DType::Float);
      };
      const Tensor image = random({2, c.height, c.width, c.channels});
      const Tensor gradient = random(small);
      const float* const pixels = image.data<float>().data();
      const float* const gradients = gradient.data<float>().data();

      const Tensor largest = tensor(plain.largest(pixels), small);
      EXPECT_EQ(ours("MaxPool", {image}), largest);
      EXPECT_EQ(ours("MaxPoolGrad", {image, largest, gradient}),
                tensor(plain.largest_gradient(pixels, largest.data<float>().data(), gradients), image.shape()));
      EXPECT_EQ(ours("AvgPool", {image}), tensor(plain.mean(pixels), small));
      const Tensor shape =
          Tensor::of<std::int32_t>({2, static_cast<std::int32_t>(c.height), static_cast<std::int32_t>(c.width),
                                    static_cast<std::int32_t>(c.channels)});
      EXPECT_EQ(ours("AvgPoolGrad", {shape, gradient}), tensor(plain.mean_gradient(gradients), image.shape()));
    }
  }
}

TEST(PoolKernels, RefuseWhatDoesNotFit) {
  EXPECT_THROW(run("MaxPool", {Tensor(DType::Float, {1, 1, 1, 1})}, "VALID"), InvalidArgumentError);
  EXPECT_THROW(run("MaxPool", {Tensor(DType::Float, {4, 4})}, "SAME"), InvalidArgumentError);
  EXPECT_THROW(run("MaxPoolGrad", {kImage, kImage, kImage}, "SAME"), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
