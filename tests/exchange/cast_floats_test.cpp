// SPDX-License-Identifier: Apache-2.0
/// @file
/// Rounding to fewer bits: every number of 16 bits, and what lies between two of them.
#include <trainhook/exchange/cast_floats.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

template <class To>
To cast(double value) {
  To to{};
  detail::cast_floats(Tensor(value), 0, dtype_of<To>, std::as_writable_bytes(std::span(&to, 1)));
  return to;
}

template <class To>
void expect_nearest() {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const To number{static_cast<std::uint16_t>(bits)};
    const double value = double{to_float(number)};
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(to_float(cast<To>(value)))) << bits;
      continue;
    }
    ASSERT_EQ(cast<To>(value), number) << bits;
    const To next{static_cast<std::uint16_t>(bits + 1)};
    if (!std::isfinite(value) || !std::isfinite(to_float(next))) continue;
    const double middle = (value + double{to_float(next)}) / 2;
    ASSERT_EQ(cast<To>(middle), bits % 2 == 0 ? number : next) << bits;
    ASSERT_EQ(cast<To>(std::nextafter(middle, value)), number) << bits;
    ASSERT_EQ(cast<To>(std::nextafter(middle, double{to_float(next)})), next) << bits;
  }
}

TEST(CastFloats, RoundsToTheNearestHalfTiesToEven) { expect_nearest<Half>(); }
TEST(CastFloats, RoundsToTheNearestBFloat16TiesToEven) { expect_nearest<BFloat16>(); }

TEST(CastFloats, TurnsWhatIsTooLargeIntoInfinityAndWhatIsTooSmallIntoZero) {
  EXPECT_EQ(cast<Half>(65519.99), Half{0x7bff});
  EXPECT_EQ(cast<Half>(65520), Half{0x7c00});
  EXPECT_EQ(cast<Half>(-1e300), Half{0xfc00});
  EXPECT_EQ(cast<Half>(-1e-300), Half{0x8000});
  EXPECT_EQ(cast<BFloat16>(std::numeric_limits<double>::max()), BFloat16{0x7f80});
  EXPECT_EQ(cast<BFloat16>(std::numeric_limits<double>::denorm_min()), BFloat16{0});
  EXPECT_EQ(cast<float>(1e300), std::numeric_limits<float>::infinity());
}

TEST(CastFloats, WritesSoManyElementsFromTheFirst) {
  const Tensor tensor = Tensor::of<Half>({Half{0x3c00}, Half{0x4000}, Half{0x4200}});
  std::array<double, 2> to{};
  detail::cast_floats(tensor, 1, DType::Double, std::as_writable_bytes(std::span(to)));
  EXPECT_EQ(to, (std::array<double, 2>{2, 3}));
}

}  // namespace
}  // namespace trainhook
