// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tensors as NumPy prints them; tests/interop compares hundreds with NumPy itself.
#include <trainhook/hooks/text/numpy_text.hpp>

#include <complex>
#include <cstdint>
#include <numeric>
#include <string>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

using detail::numpy_text;

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

}  // namespace
}  // namespace trainhook
