// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels of division that rounds towards zero.
#include <trainhook/compat/kernels.hpp>

#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "run_op.hpp"

namespace trainhook {
namespace {

Tensor run(const std::string& type, const Tensor& x, const Tensor& y) {
  return test::run_op(kernels::truncation(), type, {x, y}, {{"T", x.dtype()}}, x.dtype());
}

TEST(TruncationKernels, RoundTowardsZero) {
  const Tensor numbers = Tensor::of<std::int32_t>({-7, 7, -6});
  EXPECT_EQ(run("TruncateDiv", numbers, Tensor(2)), Tensor::of<std::int32_t>({-3, 3, -3}));
  EXPECT_EQ(run("TruncateMod", numbers, Tensor(2)), Tensor::of<std::int32_t>({-1, 1, 0}));
  EXPECT_EQ(run("TruncateDiv", Tensor::of<float>({-7, 7}), Tensor(2.0F)), Tensor::of<float>({-3, 3}));
  EXPECT_EQ(run("TruncateMod", Tensor::of<double>({-7.5, 7.5}), Tensor(2.0)), Tensor::of<double>({-1.5, 1.5}));
}

TEST(TruncationKernels, RefuseToDivideIntegersByZero) {
  for (const char* type : {"TruncateDiv", "TruncateMod"})
    EXPECT_THROW(run(type, Tensor::of<std::int32_t>({1, 2}), Tensor::of<std::int32_t>({1, 0})), InvalidArgumentError);
}

TEST(TruncationKernels, WrapTheLeastNumberDividedByMinusOne) {
  const Tensor least(std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(run("TruncateDiv", least, Tensor(std::int64_t{-1})), least);
  EXPECT_EQ(run("TruncateMod", least, Tensor(std::int64_t{-1})), Tensor(std::int64_t{0}));
}

}  // namespace
}  // namespace trainhook
