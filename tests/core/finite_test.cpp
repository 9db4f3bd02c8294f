// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kinds of numbers. This file is compiled with -ffast-math, for which a number is never NaN.
#include <trainhook/core/finite.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

template <class T>
class FiniteTest : public ::testing::Test {
 protected:
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr Bits kExponent = sizeof(T) == 4 ? 0x7f80'0000 : static_cast<Bits>(0x7ff0'0000'0000'0000);

  /// The compiler must not know these numbers.
  static T of_bits(Bits bits) {
    volatile Bits unknown = bits;
    return std::bit_cast<T>(static_cast<Bits>(unknown));
  }
  T nan = of_bits(kExponent | kExponent >> 1);
  T inf = of_bits(kExponent);
  T minus_nan = of_bits(~Bits{0});
  T minus_inf = of_bits(~(static_cast<Bits>(~Bits{0}) >> 1) | kExponent);
};
using Numbers = ::testing::Types<float, double>;
TYPED_TEST_SUITE(FiniteTest, Numbers);

TYPED_TEST(FiniteTest, TellsNumbersFromNanAndInfinity) {
  using Limits = std::numeric_limits<TypeParam>;
  for (const TypeParam number :
       {TypeParam{0}, TypeParam{-1}, (Limits::max)(), Limits::lowest(), Limits::denorm_min()}) {
    EXPECT_TRUE(detail::is_finite(number));
    EXPECT_FALSE(detail::is_nan(number));
  }
  for (const TypeParam number : {this->nan, this->minus_nan, this->inf, this->minus_inf})
    EXPECT_FALSE(detail::is_finite(number));
  EXPECT_TRUE(detail::is_nan(this->nan) && detail::is_nan(this->minus_nan));
  EXPECT_FALSE(detail::is_nan(this->inf) || detail::is_nan(this->minus_inf));
}

TYPED_TEST(FiniteTest, NamesWhatIsNotFinite) {
  EXPECT_STREQ(detail::non_finite_text(static_cast<double>(this->nan)), "nan");
  EXPECT_STREQ(detail::non_finite_text(static_cast<double>(this->inf)), "inf");
  EXPECT_STREQ(detail::non_finite_text(static_cast<double>(this->minus_inf)), "-inf");
}

}  // namespace
}  // namespace trainhook
