// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, images in another size.
#include <trainhook/engine/kernels.hpp>

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
