// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tensors as text in log lines, and as NumPy prints them; tests/interop compares hundreds with NumPy itself.
#include <trainhook/hooks/text/tensor_text.hpp>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/io/crc32c.hpp>

namespace trainhook {
namespace {

using detail::numpy_column;
using detail::numpy_scalar;
using detail::numpy_text;
using detail::NumpyNumber;
using detail::tensor_text;
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

TEST(NumpyText, ScalarsAreThoseOfPython) {
  EXPECT_EQ(numpy_text(Tensor(42.0F)), "42.0");
  EXPECT_EQ(numpy_text(Tensor(std::int8_t{-3})), "-3");
  EXPECT_EQ(numpy_text(Tensor(true)), "True");
  EXPECT_EQ(numpy_text(Tensor("it's")), "b\"it's\"");
  EXPECT_EQ(numpy_text(Tensor(std::string("\n\\\x01\xc3", 4))), "b'\\n\\\\\\x01\\xc3'");
  EXPECT_EQ(numpy_text(Tensor(std::complex<float>(1, -2))), "(1-2j)");
  EXPECT_EQ(numpy_text(Tensor(std::complex<double>(0, 0.5))), "0.5j");
  EXPECT_EQ(numpy_text(Tensor()), "none");
}

TEST(NumpyText, ElementsOfAnArrayAreAligned) {
  EXPECT_EQ(numpy_text(Tensor::of<float>({1, 2.5, -10})), "[  1.    2.5 -10. ]");
  EXPECT_EQ(numpy_text(Tensor::of<std::int32_t>({1, -20, 3})), "[  1 -20   3]");
  EXPECT_EQ(numpy_text(Tensor::of<bool>({true, false})), "[ True False]");
  EXPECT_EQ(numpy_text(Tensor::of<std::string>({"a", "bc"})), "[b'a' b'bc']");
  EXPECT_EQ(numpy_text(Tensor::of<std::complex<float>>({{1, 2.5}, {-3, -1}})), "[ 1.+2.5j -3.-1.j ]");
  EXPECT_EQ(numpy_text(Tensor(DType::Float, Shape{2, 0})), "[]");
}

TEST(NumpyText, EachRowHasALine) {
  EXPECT_EQ(numpy_text(Tensor::of<std::int32_t>({1, 2, 3, 4}, {2, 2})), "[[1 2]\n [3 4]]");
  EXPECT_EQ(numpy_text(Tensor::of<std::int32_t>({1, 2, 3, 4}, {2, 1, 2})), "[[[1 2]]\n\n [[3 4]]]");
}

Tensor counting(std::int32_t first, std::int32_t count) {
  Tensor numbers(DType::Int32, Shape{count});
  const auto data = numbers.mutable_data<std::int32_t>();
  std::iota(data.begin(), data.end(), first);
  return numbers;
}

TEST(NumpyText, ALongRowIsBroken) {
  EXPECT_EQ(numpy_text(counting(10, 40)),
            "[10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33\n"
            " 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49]");
}

TEST(NumpyText, ALargeArrayShowsItsEdges) {
  EXPECT_EQ(numpy_text(counting(0, 1001)), "[   0    1    2 ...  998  999 1000]");
  EXPECT_EQ(numpy_text(Tensor(DType::Int32, Shape{1000, 2})), "[[0 0]\n [0 0]\n [0 0]\n ...\n [0 0]\n [0 0]\n [0 0]]");
}

TEST(TensorText, ScalarsAreTheirShortestDigits) {
  EXPECT_EQ(tensor_text(Tensor(42.0F)), "42.0");
  EXPECT_EQ(tensor_text(Tensor(0.1F)), "0.1");
  EXPECT_EQ(tensor_text(Tensor(0.1)), "0.1");
  EXPECT_EQ(tensor_text(Tensor(1e-7F)), "1e-07");
  EXPECT_EQ(tensor_text(Tensor(std::int64_t{-3})), "-3");
  EXPECT_EQ(tensor_text(Tensor(std::uint8_t{200})), "200");
  EXPECT_EQ(tensor_text(Tensor(std::int8_t{65})), "65");
  EXPECT_EQ(tensor_text(Tensor(true)), "true");
  EXPECT_EQ(tensor_text(Tensor("text")), "'text'");
  EXPECT_EQ(tensor_text(Tensor(std::numeric_limits<float>::quiet_NaN())), "nan");
  EXPECT_EQ(tensor_text(Tensor(-std::numeric_limits<float>::quiet_NaN())), "nan");
  EXPECT_EQ(tensor_text(Tensor(-std::numeric_limits<double>::infinity())), "-inf");
  EXPECT_EQ(tensor_text(Tensor(std::complex<float>(1, -2))), "1.0-2.0j");
  EXPECT_EQ(tensor_text(Tensor(std::complex<double>(-0.0, -std::numeric_limits<double>::quiet_NaN()))), "-0.0+nanj");
  EXPECT_EQ(tensor_text(Tensor(1e16)), "1e+16");
  EXPECT_EQ(tensor_text(Tensor(123456789.0F)), "123456790.0");
  EXPECT_EQ(tensor_text(Tensor()), "none");
}

TEST(TensorText, HalvesAreAsNumPyWritesThemAndItHasNoBFloat16) {
  EXPECT_EQ(tensor_text(Tensor(Half{0x3c00})), "1.0");
  EXPECT_EQ(tensor_text(Tensor(Half{0xc500})), "-5.0");
  EXPECT_EQ(tensor_text(Tensor(Half{0x0001})), "6e-08");
  EXPECT_EQ(tensor_text(Tensor(Half{0x7bff})), "65500.0");
  EXPECT_EQ(tensor_text(Tensor(Half{0x7c00})), "inf");
  EXPECT_EQ(tensor_text(Tensor(BFloat16{0x4049})), "3.140625");
}

TEST(TensorText, MoreDimensionsAreNestedBrackets) {
  EXPECT_EQ(tensor_text(Tensor::of<float>({1, 2.5})), "[1.0 2.5]");
  EXPECT_EQ(tensor_text(Tensor::of<std::int32_t>({1, 2, 3, 4}, {2, 2})), "[[1 2] [3 4]]");
  EXPECT_EQ(tensor_text(Tensor(DType::Float, Shape{0})), "[]");
  EXPECT_EQ(tensor_text(Tensor(DType::Float, Shape{2, 0})), "[[] []]");
}

TEST(TensorText, LongOnesAreCut) {
  const std::string vector = tensor_text(Tensor(DType::Int32, Shape{1'000'000}));
  EXPECT_TRUE(vector.ends_with(" 0 ...]")) << vector;
  EXPECT_LT(vector.size(), 100U);
  EXPECT_LT(tensor_text(Tensor(DType::Int32, Shape{1000, 1000})).size(), 100U);
}

}  // namespace
}  // namespace trainhook
