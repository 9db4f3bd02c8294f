// SPDX-License-Identifier: Apache-2.0
/// @file
/// Every dtype that is a real number, as C++ numbers.
#include <trainhook/core/real_numbers.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

namespace trainhook::detail {
namespace {

constexpr Half kHalfOfTwo{0x4000};
constexpr BFloat16 kBFloatOfTwo{0x4000};

/// A scalar 2 of each dtype that is a number, and true.
std::vector<Tensor> twos() {
  return {Tensor(2.0F),
          Tensor(2.0),
          Tensor(kHalfOfTwo),
          Tensor(kBFloatOfTwo),
          Tensor(std::int8_t{2}),
          Tensor(std::int16_t{2}),
          Tensor(std::int32_t{2}),
          Tensor(std::int64_t{2}),
          Tensor(std::uint8_t{2}),
          Tensor(std::uint16_t{2}),
          Tensor(std::uint32_t{2}),
          Tensor(std::size_t{2})};
}

TEST(RealNumbers, EveryNumberOfCppIsOne) {
  for (const Tensor& two : twos()) {
    EXPECT_TRUE(is_real(two.dtype())) << two.to_string();
    EXPECT_EQ(tensor_number(two), 2.0) << two.to_string();
    EXPECT_EQ(as_floats(two), Tensor(2.0F)) << two.to_string();
  }
  EXPECT_EQ(tensor_number(Tensor(true)), 1.0);
  EXPECT_EQ(as_floats(Tensor::of<bool>({true, false})), Tensor::of<float>({1, 0}));
}

TEST(RealNumbers, TextsAndComplexNumbersAreNone) {
  for (const Tensor& other : {Tensor("2"), Tensor(std::complex<float>(2)), Tensor(std::complex<double>(2)), Tensor()}) {
    EXPECT_FALSE(is_real(other.dtype())) << other.to_string();
    EXPECT_EQ(tensor_number(other), std::nullopt) << other.to_string();
    EXPECT_THROW(static_cast<void>(as_floats(other)), InvalidArgumentError) << other.to_string();
  }
}

TEST(RealNumbers, ANumberIsTheOnlyElement) {
  EXPECT_EQ(tensor_number(Tensor::of<std::int32_t>({7}, {1, 1})), 7.0);
  EXPECT_EQ(tensor_number(Tensor::of<float>({1, 2})), std::nullopt);
  EXPECT_EQ(tensor_number(Tensor(DType::Float, Shape{0})), std::nullopt);
}

TEST(RealNumbers, LargeIntegersAreRoundedOnce) {
  constexpr auto kLargest = (std::numeric_limits<std::uint64_t>::max)();
  EXPECT_EQ(tensor_number(Tensor(kLargest)), 0x1p64);
  // Rounded to a double first, it would be half way between two floats, and become the lower one.
  EXPECT_EQ(real_as<float>((std::uint64_t{1} << 60) + (std::uint64_t{1} << 36) + 1), 0x1p60F + 0x1p37F);
}

}  // namespace
}  // namespace trainhook::detail
