// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, convolution.
#include <trainhook/engine/kernels/conv.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "run_op.hpp"

namespace trainhook {
namespace {

Attrs attrs(std::string padding, std::int64_t stride = 1) {
  return {{"T", DType::Float},
          {"data_format", std::string("NHWC")},
          {"dilations", std::vector<std::int64_t>{1, 1, 1, 1}},
          {"padding", std::move(padding)},
          {"strides", std::vector<std::int64_t>{1, stride, stride, 1}}};
}

Tensor run(const std::string& type, const std::vector<Tensor>& inputs, const Attrs& with) {
  return test::run_op(kernels::conv(), type, inputs, with, DType::Float);
}

const Tensor kImage = Tensor::of<float>({1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 3, 3, 1});
const Tensor kFilter = Tensor::of<float>({1, 10, 100, 1000}, {2, 2, 1, 1});

TEST(ConvKernels, MoveTheFilterOverTheImage) {
  EXPECT_EQ(run("Conv2D", {kImage, kFilter}, attrs("VALID")), Tensor::of<float>({5421, 6532, 8754, 9865}, {1, 2, 2, 1}));
}

TEST(ConvKernels, PadBehindFirst) {
  EXPECT_EQ(run("Conv2D", {kImage, kFilter}, attrs("SAME")),
            Tensor::of<float>({5421, 6532, 603, 8754, 9865, 906, 87, 98, 9}, {1, 3, 3, 1}));
  EXPECT_EQ(run("Conv2D", {kImage, kFilter}, attrs("SAME", 2)), Tensor::of<float>({5421, 603, 87, 9}, {1, 2, 2, 1}));
}

TEST(ConvKernels, MixChannels) {
  const Tensor image = Tensor::of<float>({1, 2, 3, 4}, {1, 1, 2, 2});
  EXPECT_EQ(run("Conv2D", {image, Tensor::of<float>({1, 10, 100, 1000}, {1, 1, 2, 2})}, attrs("VALID")),
            Tensor::of<float>({201, 2010, 403, 4030}, {1, 1, 2, 2}));
}

TEST(ConvKernels, GiveTheGradientsOfBothInputs) {
  const Tensor gradient = Tensor::of<float>({1, 0, 0, 2}, {1, 2, 2, 1});
  EXPECT_EQ(run("Conv2DBackpropFilter", {kImage, Tensor::of<std::int32_t>({2, 2, 1, 1}), gradient}, attrs("VALID")),
            Tensor::of<float>({1 + 10, 2 + 12, 4 + 16, 5 + 18}, {2, 2, 1, 1}));
  EXPECT_EQ(run("Conv2DBackpropInput", {Tensor::of<std::int32_t>({1, 3, 3, 1}), kFilter, gradient}, attrs("VALID")),
            Tensor::of<float>({1, 10, 0, 100, 1002, 20, 0, 200, 2000}, {1, 3, 3, 1}));
}

TEST(ConvKernels, RefuseWhatDoesNotFit) {
  EXPECT_THROW(run("Conv2D", {kImage, Tensor(DType::Float, {2, 2, 3, 1})}, attrs("VALID")), InvalidArgumentError);
  EXPECT_THROW(run("Conv2D", {kImage, Tensor(DType::Float, {4, 4, 1, 1})}, attrs("VALID")), InvalidArgumentError);
  EXPECT_THROW(run("Conv2D", {kImage, Tensor(DType::Float, {2, 2})}, attrs("VALID")), InvalidArgumentError);
  EXPECT_THROW(run("Conv2D", {kImage, kFilter}, attrs("EXPLICIT")), UnimplementedError);
  EXPECT_THROW(run("Conv2DBackpropInput", {Tensor::of<std::int32_t>({1, 3, 3, 1}), kFilter, kImage}, attrs("VALID")), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
