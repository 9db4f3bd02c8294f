// SPDX-License-Identifier: Apache-2.0
/// @file
/// Numbers as NumPy prints them; tests/interop compares hundreds of arrays with NumPy itself.
#include <trainhook/hooks/text/numpy_number.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/io/crc32c.hpp>

namespace trainhook {
namespace {

using detail::numpy_column;
using detail::numpy_scalar;
using detail::NumpyNumber;
using Texts = std::vector<std::string>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Texts column(const std::vector<double>& values, bool with_plus = false) {
  std::vector<NumpyNumber> numbers;
  for (const double value : values) numbers.emplace_back(value);
  return numpy_column(numbers, with_plus);
}

TEST(NumpyNumber, AScalarHasTheFewestDigitsThatReadBack) {
  EXPECT_EQ(numpy_scalar(NumpyNumber(0.1F)), "0.1");
  EXPECT_EQ(numpy_scalar(NumpyNumber(0.1)), "0.1");
  EXPECT_EQ(numpy_scalar(NumpyNumber(Half{0x2e66})), "0.1");
  EXPECT_EQ(numpy_scalar(NumpyNumber(-42.0)), "-42.0");
  EXPECT_EQ(numpy_scalar(NumpyNumber(-0.0)), "-0.0");
  EXPECT_EQ(numpy_scalar(NumpyNumber(1e-7F)), "1e-07");
  EXPECT_EQ(numpy_scalar(NumpyNumber(1.5e300)), "1.5e+300");
  EXPECT_EQ(numpy_scalar(NumpyNumber(123456789.0F)), "123456790.0");
  EXPECT_EQ(numpy_scalar(NumpyNumber(1e15)), "1000000000000000.0");
}

TEST(NumpyNumber, AHalfBetweenTwoDecimalsHasTheDigitsOfNumPy) {
  EXPECT_EQ(numpy_scalar(NumpyNumber(Half{0x6c04})), "4110.0");  // 4112, and 4110 is halfway to the half below
  EXPECT_EQ(numpy_scalar(NumpyNumber(Half{0x2400})), "0.01563");
  EXPECT_EQ(numpy_scalar(NumpyNumber(Half{0xfbff})), "-65500.0");
  EXPECT_EQ(numpy_scalar(NumpyNumber(Half{0x0001})), "6e-08");
}

TEST(NumpyNumber, EveryHalfIsPrintedAsNumPyDoes) {
  std::string all;
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits)
    all += numpy_scalar(NumpyNumber(Half{static_cast<std::uint16_t>(bits)})) + "\n";
  // print(*map(str, np.arange(65536, dtype=np.uint16).view(np.float16)), sep="\n") of NumPy 1.26
  EXPECT_EQ(all.size(), 508021U);
  EXPECT_EQ(crc32c::value(all), 0x6e621e87U);
}

TEST(NumpyNumber, EveryBFloat16IsPrintedAsNumPyPrintsItsFloat) {
  EXPECT_EQ(numpy_scalar(NumpyNumber(BFloat16{0x0f80})), "1.2621775e-29");  // 2^-96, with another float nearby below
  std::string all;
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits)
    all += numpy_scalar(NumpyNumber(BFloat16{static_cast<std::uint16_t>(bits)})) + "\n";
  // print(*map(str, (np.arange(65536, dtype=np.uint32) << 16).view(np.float32)), sep="\n") of NumPy 1.26
  EXPECT_EQ(all.size(), 894905U);
  EXPECT_EQ(crc32c::value(all), 0x2b5a6c9aU);
}

TEST(NumpyNumber, NanHasNoSign) {
  EXPECT_EQ(numpy_scalar(NumpyNumber(std::copysign(kNan, -1.0))), "nan");
  EXPECT_EQ(numpy_scalar(NumpyNumber(-kInfinity)), "-inf");
  EXPECT_EQ(column({std::copysign(kNan, -1.0), 1}), (Texts{"nan", " 1."}));
}

TEST(NumpyNumber, AColumnHasItsPointsBelowEachOther) {
  EXPECT_EQ(column({1, -2.5, 100.125}), (Texts{"  1.   ", " -2.5  ", "100.125"}));
  EXPECT_EQ(column({1, 2.5}, true), (Texts{"+1. ", "+2.5"}));
  EXPECT_EQ(column({0.25, -kInfinity, kNan}), (Texts{"0.25", "-inf", " nan"}));
}

TEST(NumpyNumber, AColumnHasAtMostEightDigitsAfterThePoint) {
  EXPECT_EQ(column({1.0 / 3, 1e-9}), (Texts{"0.33333333", "0.        "}));
}

TEST(NumpyNumber, AColumnWithALargeNumberHasExponents) {
  EXPECT_EQ(column({1.5e9, -2, kNan}), (Texts{" 1.5e+09", "-2.0e+00", "     nan"}));
  EXPECT_EQ(column({1e100, 1}), (Texts{"1.e+100", "1.e+000"}));
}

TEST(NumpyNumber, AColumnOfWholeNumbersHasAllTheirDigits) {
  const std::vector<NumpyNumber> numbers{NumpyNumber(99999992.0F), NumpyNumber(1.0F)};
  EXPECT_EQ(numpy_column(numbers), (Texts{"99999992.", "       1."}));
}

}  // namespace
}  // namespace trainhook
