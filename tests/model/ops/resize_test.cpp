// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shapes and errors of images in another size.
#include <trainhook/model/ops/resize.hpp>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/gradients.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

TEST(ResizeOps, HaveTheSizeGiven) {
  Graph graph;
  const Output images = placeholder(graph, DType::UInt8, {-1, 4, 5, 3}, "images");
  EXPECT_EQ(resize_bilinear(images, {8, 9}).shape(), PartialShape({-1, 8, 9, 3}));
  EXPECT_EQ(resize_bilinear(images, {8, 9}).dtype(), DType::Float);
  EXPECT_EQ(resize_nearest_neighbor(images, {2, 2}).dtype(), DType::UInt8);
  testing::expect_error({"rank 4"}, [&] { resize_bilinear(placeholder(graph, DType::Float, {4, 5}), {8, 9}); });
}

TEST(ResizeOps, GradientsHaveTheSizeOfTheImages) {
  Graph graph;
  const Output images = placeholder(graph, DType::Float, {2, 4, 5, 3}, "images");
  EXPECT_EQ(gradients(resize_bilinear(images, {8, 9}), {images})[0].shape(), images.shape());
  EXPECT_EQ(gradients(resize_nearest_neighbor(images, {8, 9}), {images})[0].shape(), images.shape());
}

}  // namespace
}  // namespace trainhook
