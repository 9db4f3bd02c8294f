// SPDX-License-Identifier: Apache-2.0
/// @file
/// first_non_finite: NaN and infinity in each dtype that has them.
#include <trainhook/checkpoint/non_finite.hpp>

#include <complex>
#include <cstdint>
#include <limits>
#include <optional>

#include <gtest/gtest.h>

#include <trainhook/core/tensor.hpp>

namespace trainhook::detail {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(FirstNonFinite, NamesTheElement) {
  EXPECT_EQ(first_non_finite(elements_of(Tensor::of<float>({1, kNan, kNan}))), 1U);
  EXPECT_EQ(first_non_finite(elements_of(Tensor::of<double>({1, 2, -kInfinity}))), 2U);
  EXPECT_EQ(first_non_finite(elements_of(Tensor::of<std::complex<float>>({{1, 2}, {3, kNan}}))), 1U);
  EXPECT_EQ(first_non_finite(elements_of(Tensor::of<Half>({{0x3c00}, {0x7c00}}))), 1U);
  EXPECT_EQ(first_non_finite(elements_of(Tensor::of<BFloat16>({{0x3f80}, {0xff80}}))), 1U);
}

TEST(FirstNonFinite, IsNothingIfAllAreFinite) {
  EXPECT_EQ(first_non_finite(elements_of(Tensor::of<float>({1, std::numeric_limits<float>::max(), 0}))), std::nullopt);
  EXPECT_EQ(first_non_finite(elements_of(Tensor::of<Half>({{0x3c00}, {0x7bff}}))), std::nullopt);
  EXPECT_EQ(first_non_finite(elements_of(Tensor::of<BFloat16>({{0x3f80}, {0x7f7f}}))), std::nullopt);
  EXPECT_EQ(first_non_finite(elements_of(Tensor::of<std::complex<double>>({{0, 0}, {0, 1}}))), std::nullopt);
  EXPECT_EQ(first_non_finite(elements_of(Tensor::of<std::int64_t>({-1}))), std::nullopt);
}

}  // namespace
}  // namespace trainhook::detail
