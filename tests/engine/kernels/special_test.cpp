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
