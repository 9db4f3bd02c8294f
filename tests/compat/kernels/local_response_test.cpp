// SPDX-License-Identifier: Apache-2.0
/// @file
/// Local response normalization on small images.
#include <trainhook/compat/kernels.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <fmt/format.h>
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

/// Numbers that are not round, from -1 to 1.
Tensor numbers(const Shape& shape, std::uint32_t state) {
  Tensor tensor(DType::Float, shape);
  for (float& element : tensor.overwrite_data<float>()) {
    state = state * 1664525 + 1013904223;
    element = static_cast<float>(static_cast<std::int32_t>(state)) / 2147483648.0F;
  }
  return tensor;
}

TEST(LocalResponseKernels, AreTheirDefinitionAndTheSameOnAnyNumberOfThreads) {
  struct Case {
    std::int64_t images, channels, radius;
    float beta;
  };
  for (const auto& [images, channels, radius, beta] :
       {Case{2, 16, 5, 0.5F}, Case{1, 96, 2, 0.75F}, Case{1, 7, 0, 1.0F}, Case{1, 3, 9, 0.6F}, Case{3, 16, 5, 0.75F},
        Case{0, 4, 1, 0.5F}, Case{1, 0, 1, 0.5F}, Case{1, 300, 4, 0.5F}}) {
    const Shape shape{images, 5, 31, channels};
    const Attrs attrs{{"T", DType::Float}, {"depth_radius", radius}, {"bias", 0.5F}, {"alpha", 0.3F}, {"beta", beta}};
    const std::vector<Tensor> inputs{numbers(shape, 1), numbers(shape, 2), numbers(shape, 3)};
    const auto run = [&](const char* type, const std::vector<Tensor>& of, std::size_t num_threads) {
      return test::run_op(kernels::local_response(), type, of, attrs, {DType::Float}, num_threads)[0];
    };
    const Tensor y = run("LRN", {inputs[1]}, 1);
    const Tensor result = run("LRNGrad", inputs, 1);
    EXPECT_EQ(run("LRN", {inputs[1]}, 3), y);
    EXPECT_EQ(run("LRNGrad", inputs, 3), result);

    const auto at = [&](std::size_t input, std::int64_t i) {
      return double{inputs[input].data<float>()[std::size_t(i)]};
    };
    for (std::int64_t i = 0; i < y.num_elements(); ++i) {
      const std::int64_t row = i / channels * channels;
      const std::int64_t row_end = row + channels;
      const auto first = [row, around = radius](std::int64_t j) { return std::max(j - around, row); };
      const auto end = [row_end, around = radius](std::int64_t j) { return std::min(j + around + 1, row_end); };
      const auto norm = [&](std::int64_t j) {
        double squares = 0;
        for (std::int64_t k = first(j); k < end(j); ++k) squares += at(1, k) * at(1, k);
        return 0.5 + 0.3 * squares;
      };
      const double scale = std::pow(norm(i), -beta);
      double shares = 0;
      for (std::int64_t j = first(i); j < end(i); ++j) shares += at(0, j) * at(2, j) / norm(j);
      ASSERT_NEAR(y.data<float>()[std::size_t(i)], at(1, i) * scale, 1e-6) << fmt::format("{} of {}", i, shape);
      ASSERT_NEAR(result.data<float>()[std::size_t(i)], at(0, i) * scale - 2 * 0.3 * beta * at(1, i) * shares, 3e-6)
          << fmt::format("{} of {}", i, shape);
    }
  }
}

}  // namespace
}  // namespace trainhook
