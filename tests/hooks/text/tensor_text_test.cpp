// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tensors as text in log lines.
#include <trainhook/hooks/text/tensor_text.hpp>

#include <complex>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

using detail::tensor_text;

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
