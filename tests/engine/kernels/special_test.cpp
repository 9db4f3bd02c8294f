// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, functions beyond plain arithmetic.
#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "run_op.hpp"

namespace trainhook {
namespace {

Tensor run(const std::string& type, const std::vector<Tensor>& inputs) {
  const DType dtype = inputs[0].dtype();
  return test::run_op(kernels::special(), type, inputs, {{"T", dtype}}, dtype);
}

void expect_function(const std::string& type, const std::function<double(double)>& of) {
  const std::vector<double> x{-0.9, -0.25, 0, 0.5, 0.75};
  const Tensor result = run(type, {Tensor::of<double>({-0.9, -0.25, 0, 0.5, 0.75})});
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(result.data<double>()[i], of(x[i]), 1e-14) << type << x[i];
}

TEST(SpecialKernels, AreThoseOfTheStandardLibrary) {
  expect_function("Acos", [](double x) { return std::acos(x); });
  expect_function("Asin", [](double x) { return std::asin(x); });
  expect_function("Atan", [](double x) { return std::atan(x); });
  expect_function("Ceil", [](double x) { return std::ceil(x); });
  expect_function("Cosh", [](double x) { return std::cosh(x); });
  expect_function("Expm1", [](double x) { return std::expm1(x); });
  expect_function("Sinh", [](double x) { return std::sinh(x); });
  expect_function("Tan", [](double x) { return std::tan(x); });
  expect_function("Softsign", [](double x) { return x / (1 + std::abs(x)); });
  expect_function("Selu",
                  [](double x) { return 1.0507009873554804935 * (x < 0 ? 1.6732632423543772848 * std::expm1(x) : x); });
}

/// Compares a function of floats with its value, rounded once, from -`end` to `end` and for all kinds of numbers.
void expect_function_of_floats(const std::string& type, float end, double (*of)(double)) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr std::int64_t kCount = 20'003;  // not as many as fill vectors
  Tensor x(DType::Float, {kCount});
  const float first[] = {0, -0.0F, 1e-30F, -1e-30F, 1, -1, 0.5F, -0.5F, end, -end, kInf, -kInf, NAN};
  for (std::int64_t i = 0; i < kCount; ++i)
    x.mutable_data<float>()[static_cast<std::size_t>(i)] =
        i < std::ssize(first) ? first[i] : end * (2 * static_cast<float>(i) / static_cast<float>(kCount) - 1);
  const Tensor found = run(type, {x});
  for (std::size_t i = 0; i < static_cast<std::size_t>(kCount); ++i) {
    const float value = x.data<float>()[i];
    const auto expected = static_cast<float>(of(value));
    const float result = found.data<float>()[i];
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(result)) << type << " of " << value;
    } else if (expected == 0 || std::isinf(expected)) {
      EXPECT_EQ(result, expected) << type << " of " << value;
      EXPECT_EQ(std::signbit(result), std::signbit(expected)) << type << " of " << value;
    } else {
      ASSERT_NEAR(result, expected, 4e-7F * std::abs(expected)) << type << " of " << value;
    }
  }
}

TEST(SpecialKernels, InverseFunctionsOfFloatsAreThoseOfTheStandardLibraryButForRounding) {
  expect_function_of_floats("Acos", 1, [](double x) { return std::acos(x); });
  expect_function_of_floats("Asin", 1, [](double x) { return std::asin(x); });
  expect_function_of_floats("Acos", 1.1F, [](double x) { return std::acos(x); });
  expect_function_of_floats("Asin", 1.1F, [](double x) { return std::asin(x); });
  expect_function_of_floats("Atan", 1, [](double x) { return std::atan(x); });
  expect_function_of_floats("Atan", 100, [](double x) { return std::atan(x); });
}

TEST(SpecialKernels, SeluOfFloatsIsAccurateNextToZeroAndFarFromIt) {
  const auto selu = [](double x) {
    return 1.0507009873554804935 * (x < 0 ? 1.6732632423543772848 * std::expm1(x) : x);
  };
  for (const float end : {1e-5F, 1.0F, 30.0F}) expect_function_of_floats("Selu", end, selu);
}

TEST(SpecialKernels, RoundVectorsAsTheStandardLibraryDoes) {
  const auto check = []<class T>(T last) {
    const T values[] = {T(-0.0),
                        T(-0.3),
                        T(0.5),
                        T(-1.5),
                        T(2.5),
                        T(1e6) + T(0.5),
                        1 / std::numeric_limits<T>::epsilon(),
                        last,
                        -last,
                        std::numeric_limits<T>::infinity()};
    Tensor x(dtype_of<T>, {103});  // not as many as fill vectors
    for (std::size_t i = 0; i < 103; ++i) x.mutable_data<T>()[i] = values[i % std::size(values)];
    const Tensor found = run("Rint", {x});
    for (std::size_t i = 0; i < 103; ++i) {
      const T expected = std::nearbyint(x.data<T>()[i]);
      EXPECT_EQ(found.data<T>()[i], expected);
      EXPECT_EQ(std::signbit(found.data<T>()[i]), std::signbit(expected));
    }
    std::ranges::fill(x.mutable_data<T>(), std::numeric_limits<T>::quiet_NaN());
    EXPECT_TRUE(std::isnan(run("Rint", {x}).template data<T>()[0]));
  };
  check(8388607.5F);
  check(4503599627370495.5);
}

TEST(SpecialKernels, RoundingGoesToTheEvenOneOfTwo) {
  for (const char* type : {"Round", "Rint"}) {
    EXPECT_EQ(run(type, {Tensor::of<float>({-1.5F, -0.5F, 0.5F, 1.5F, 2.5F, 2.6F})}),
              Tensor::of<float>({-2, -0.0F, 0, 2, 2, 3}));
  }
  EXPECT_EQ(run("Round", {Tensor::of<std::int32_t>({-3, 4})}), Tensor::of<std::int32_t>({-3, 4}));
}

TEST(SpecialKernels, GradientsWantOneShape) {
  EXPECT_EQ(run("SoftsignGrad", {Tensor::of<float>({8, 8}), Tensor::of<float>({1, -3})}), Tensor::of<float>({2, 0.5F}));
  EXPECT_EQ(run("SeluGrad", {Tensor::of<double>({2, 2}), Tensor::of<double>({1, -0.7580993408473768599})}),
            Tensor::of<double>({2.101401974710961, 2}));
  EXPECT_THROW(static_cast<void>(run("SeluGrad", {Tensor::of<float>({1}), Tensor::of<float>({1, 2})})),
               InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
