// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, images in another size.
#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "run_op.hpp"

namespace trainhook {
namespace {

const Tensor kImage = Tensor::of<float>({0, 4, 8, 12}, {1, 2, 2, 1});

Tensor resized(const std::string& type, const Tensor& size, bool align_corners, bool half_pixel_centers,
               const Tensor& image = kImage) {
  return test::run_op(
      kernels::resize(), type, {image, size},
      {{"T", image.dtype()}, {"align_corners", align_corners}, {"half_pixel_centers", half_pixel_centers}},
      DType::Float);
}

const Tensor kSize = Tensor::of<std::int32_t>({1, 4});

TEST(ResizeKernels, TakeTheNearestPixel) {
  EXPECT_EQ(resized("ResizeNearestNeighbor", kSize, false, false), Tensor::of<float>({0, 0, 4, 4}, {1, 1, 4, 1}));
  EXPECT_EQ(resized("ResizeNearestNeighbor", kSize, false, true), Tensor::of<float>({8, 8, 12, 12}, {1, 1, 4, 1}));
}

TEST(ResizeKernels, TakeTheMeanOfThePixelsAround) {
  EXPECT_EQ(resized("ResizeBilinear", kSize, false, false), Tensor::of<float>({0, 2, 4, 4}, {1, 1, 4, 1}));
  EXPECT_EQ(resized("ResizeBilinear", kSize, false, true), Tensor::of<float>({4, 5, 7, 8}, {1, 1, 4, 1}));
  EXPECT_EQ(resized("ResizeBilinear", Tensor::of<std::int32_t>({1, 3}), true, false),
            Tensor::of<float>({0, 2, 4}, {1, 1, 3, 1}));
}

template <class T>
void expect_means_in_each_channel() {
  Tensor image(dtype_of<T>, {2, 2, 3, 11});  // channels that do not fill vectors
  for (std::size_t i = 0; i < 132; ++i) image.template mutable_data<T>()[i] = static_cast<T>(i * i % 97);
  const Tensor result = resized("ResizeBilinear", Tensor::of<std::int32_t>({4, 6}), false, false, image);
  ASSERT_EQ(result.shape(), (Shape{2, 4, 6, 11}));
  for (std::size_t at = 0; at < 2 * 4 * 6 * 11; ++at) {
    const std::size_t channel = at % 11;
    const std::size_t x = at / 11 % 6;
    const std::size_t y = at / 66 % 4;
    const auto pixel = [&](std::size_t line, std::size_t column) {
      const std::size_t image_at = at / 264 * 66;
      return static_cast<float>(
          image.data<T>()[image_at + ((std::min)(line, std::size_t{1}) * 3 + (std::min)(column, std::size_t{2})) * 11 +
                          channel]);
    };
    const auto mean = [&](std::size_t line) { return (pixel(line, x / 2) + pixel(line, x / 2 + x % 2)) / 2; };
    EXPECT_EQ(result.data<float>()[at], (mean(y / 2) + mean(y / 2 + y % 2)) / 2) << at;
  }
}

TEST(ResizeKernels, TakeTheMeanInEachChannelOfEachImage) {
  expect_means_in_each_channel<float>();
  expect_means_in_each_channel<std::uint8_t>();
}

TEST(ResizeKernels, GradientsGoToThePixelsTheyCameFrom) {
  EXPECT_EQ(resized("ResizeNearestNeighborGrad", Tensor::of<std::int32_t>({1, 2}), false, false,
                    Tensor::of<float>({1, 2, 3, 4}, {1, 1, 4, 1})),
            Tensor::of<float>({3, 7}, {1, 1, 2, 1}));
  EXPECT_EQ(resized("ResizeBilinearGrad", Tensor(DType::Float, Shape{1, 1, 2, 1}), false, false,
                    Tensor::of<float>({1, 2, 3, 4}, {1, 1, 4, 1})),
            Tensor::of<float>({2, 8}, {1, 1, 2, 1}));
}

TEST(ResizeKernels, RefuseSizesThatAreNotPositive) {
  EXPECT_THROW(resized("ResizeBilinear", Tensor::of<std::int32_t>({0, 4}), false, false), InvalidArgumentError);
  EXPECT_THROW(resized("ResizeBilinear", Tensor::of<std::int32_t>({4}), false, false), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
