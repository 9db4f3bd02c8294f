// SPDX-License-Identifier: Apache-2.0
/// @file
/// Local response normalization on small images.
#include <trainhook/compat/kernels.hpp>

#include <cstdint>

#include <gtest/gtest.h>

#include "run_op.hpp"

namespace trainhook {
namespace {

TEST(LocalResponseKernels, DivideEachChannelByThePowerOfSquaresAround) {
  const Attrs attrs{
      {"T", DType::Float}, {"depth_radius", std::int64_t{1}}, {"bias", 1.0F}, {"alpha", 3.0F}, {"beta", 0.5F}};
  const Tensor x = Tensor::of<float>({1, 2, 0, 1}, {1, 1, 1, 4});
  const Tensor y = test::run_op(kernels::local_response(), "LRN", {x}, attrs, DType::Float);
  EXPECT_EQ(y, Tensor::of<float>({0.25F, 0.5F, 0, 0.5F}, {1, 1, 1, 4}));
  const Tensor one = Tensor::of<float>({0, 0, 0, 1}, {1, 1, 1, 4});
  EXPECT_EQ(test::run_op(kernels::local_response(), "LRNGrad", {one, x, y}, attrs, DType::Float),
            Tensor::of<float>({0, 0, 0, 0.125F}, {1, 1, 1, 4}));
  EXPECT_THROW(
      static_cast<void>(test::run_op(kernels::local_response(), "LRN", {Tensor::of<float>({1})}, attrs, DType::Float)),
      InvalidArgumentError);
  for (const std::int64_t radius : {std::int64_t{-3}, std::int64_t{INT64_MAX}}) {
    Attrs other = attrs;
    other["depth_radius"] = radius;
    EXPECT_THROW(static_cast<void>(test::run_op(kernels::local_response(), "LRN", {x}, other, DType::Float)),
                 InvalidArgumentError)
        << radius;
  }
}

}  // namespace
}  // namespace trainhook
