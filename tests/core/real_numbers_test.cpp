// SPDX-License-Identifier: Apache-2.0
/// @file
/// Every dtype that is a real number, as C++ numbers; rounding to fewer bits: every number of 16 bits, and what lies
/// between two of them.
#include <trainhook/core/real_numbers.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
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

TEST(CastNumbers, SaysHowManyAreRoundedAndByHowMuch) {
  const detail::CastNumbers cast = detail::cast_numbers(Tensor::of<double>({1, 0.1, 3, 1.0 / 3}), DType::Half);
  EXPECT_EQ(cast.values, Tensor::of<Half>({Half{0x3c00}, Half{0x2e66}, Half{0x4200}, Half{0x3555}}));
  EXPECT_EQ(cast.rounded, 2U);
  EXPECT_NEAR(cast.largest_change, 0.000244, 1e-6);
}

TEST(CastNumbers, KeepsNaNAndInfinity) {
  const double infinity = std::numeric_limits<double>::infinity();
  const detail::CastNumbers cast = detail::cast_numbers(Tensor::of<double>({std::nan(""), -infinity}), DType::Float);
  EXPECT_TRUE(std::isnan(cast.values.data<float>()[0]));
  EXPECT_EQ(cast.values.data<float>()[1], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(cast.rounded, 0U);
}

TEST(CastNumbers, TakesIntegersWhereTheyFit) {
  const Tensor large = Tensor::of<std::int64_t>({-128, 127, 0}, {3, 1});
  EXPECT_EQ(detail::cast_numbers(large, DType::Int8).values, Tensor::of<std::int8_t>({-128, 127, 0}, {3, 1}));
  EXPECT_EQ(detail::cast_numbers(large, DType::Float).values, Tensor::of<float>({-128, 127, 0}, {3, 1}));
  EXPECT_THROW((void)detail::cast_numbers(large, DType::UInt8), InvalidArgumentError);
  EXPECT_THROW((void)detail::cast_numbers(Tensor(std::int64_t{128}), DType::Int8), InvalidArgumentError);
  EXPECT_THROW((void)detail::cast_numbers(Tensor(std::numeric_limits<std::uint64_t>::max()), DType::Int64),
               InvalidArgumentError);
}

TEST(CastNumbers, RoundsAnIntegerThatIsLongerThanADouble) {
  EXPECT_EQ(detail::cast_numbers(Tensor((std::int64_t{1} << 53) + 1), DType::Double).rounded, 1U);
}

TEST(CastNumbers, RefusesWhatHasNoCounterpart) {
  EXPECT_THROW((void)detail::cast_numbers(Tensor(1e39), DType::Float), InvalidArgumentError);
  EXPECT_THROW((void)detail::cast_numbers(Tensor(1.0), DType::Int32), InvalidArgumentError);
  EXPECT_THROW((void)detail::cast_numbers(Tensor(true), DType::Int32), InvalidArgumentError);
  EXPECT_THROW((void)detail::cast_numbers(Tensor("1"), DType::Float), InvalidArgumentError);
}

TEST(CastNumbers, TakesTensorsOfAnySize) {
  Tensor numbers = Tensor::uninitialized(DType::Float, {1025});
  const std::span<float> written = numbers.overwrite_data<float>();
  std::iota(written.begin(), written.end(), 0.F);
  const detail::CastNumbers cast = detail::cast_numbers(numbers, DType::Double);
  EXPECT_TRUE(std::ranges::equal(cast.values.data<double>(), numbers.data<float>()));
  EXPECT_EQ(detail::cast_numbers(Tensor(DType::Float, {0}), DType::Double).values, Tensor(DType::Double, {0}));
}

}  // namespace
}  // namespace trainhook
