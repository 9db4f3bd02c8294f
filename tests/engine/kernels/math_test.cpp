// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, elementwise ops and their broadcasting.
#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>

#include <gtest/gtest.h>

#include "run_op.hpp"

namespace trainhook {
namespace {

Tensor binary(const std::string& type, const Tensor& x, const Tensor& y) {
  return test::run_op(kernels::math(), type, {x, y}, {{"T", x.dtype()}}, x.dtype());
}
Tensor compared(const std::string& type, const Tensor& x, const Tensor& y) {
  return test::run_op(kernels::math(), type, {x, y}, {{"T", x.dtype()}}, DType::Bool);
}
Tensor unary(const std::string& type, const Tensor& x) {
  return test::run_op(kernels::math(), type, {x}, {{"T", x.dtype()}}, x.dtype());
}

TEST(MathKernels, DivideNoNanGivesZeroForEachZeroDivisor) {
  EXPECT_EQ(binary("DivNoNan", Tensor::of<float>({1, 0, -4}), Tensor::of<float>({0, 0, 2})),
            Tensor::of<float>({0, 0, -2}));
  EXPECT_EQ(binary("DivNoNan", Tensor::of<double>({3, NAN}), Tensor(0.0)), Tensor::of<double>({0, 0}));
}

TEST(MathKernels, DivideManyFloatsAndRepeatAnElementOnEitherSide) {
  Tensor x(DType::Float, {37});  // not as many as fill vectors
  for (std::size_t i = 0; i < 37; ++i) x.mutable_data<float>()[i] = static_cast<float>(i) / 2 - 9;
  Tensor quotients = x;
  Tensor inverses = x;
  Tensor floors = x;
  for (std::size_t i = 0; i < 37; ++i) {
    const float value = x.data<float>()[i];
    quotients.mutable_data<float>()[i] = value / 4;
    inverses.mutable_data<float>()[i] = value == 0 ? 0 : 4 / value;
    floors.mutable_data<float>()[i] = std::floor(value / 4);
  }
  EXPECT_EQ(binary("DivNoNan", x, Tensor(4.0F)), quotients);
  EXPECT_EQ(binary("DivNoNan", Tensor(4.0F), x), inverses);
  EXPECT_EQ(binary("FloorDiv", x, Tensor(4.0F)), floors);
  EXPECT_TRUE(std::isnan(binary("FloorDiv", Tensor(0.0F), Tensor(0.0F)).scalar<float>()));
}

TEST(MathKernels, ErfIsThatOfTheStandardLibrary) {
  const Tensor x = Tensor::of<double>({-1, 0, 0.5, -0.46055});
  const Tensor found = unary("Erf", x);
  for (std::size_t i = 0; i < 4; ++i) {  // that of Eigen 5 is at most 3 units in the last place away
    EXPECT_DOUBLE_EQ(found.data<double>()[i], std::erf(x.data<double>()[i]));
  }
}

TEST(MathKernels, ErfOfFloatsIsThatOfTheStandardLibraryButForRounding) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  Tensor x(DType::Float, {100'003});  // not as many as fill vectors
  for (float at = -5; float& element : x.overwrite_data<float>()) element = at += 1e-4F;
  for (const float first : {0.0F, -0.0F, 1e-30F, -kInf, kInf}) {
    x.mutable_data<float>()[0] = first;
    const Tensor found = unary("Erf", x);
    for (std::size_t i = 0; i < x.data<float>().size(); ++i) {
      const double expected = std::erf(double{x.data<float>()[i]});
      ASSERT_NEAR(found.data<float>()[i], expected, 5e-7 * std::abs(expected)) << x.data<float>()[i];
    }
  }
  std::ranges::fill(x.mutable_data<float>(), NAN);
  const Tensor nans = unary("Erf", x);
  EXPECT_TRUE(std::ranges::all_of(nans.data<float>(), [](float element) { return std::isnan(element); }));
}

TEST(MathKernels, RepeatAnElementForComparisonsOfMany) {
  Tensor many(DType::Int32, {1000});
  std::iota(many.overwrite_data<std::int32_t>().begin(), many.overwrite_data<std::int32_t>().end(), 0);
  const Tensor greater = compared("Greater", many, Tensor(std::int32_t{700}));
  const Tensor less = compared("Less", Tensor(std::int32_t{700}), many);
  const Tensor sums = binary("AddV2", Tensor(std::int32_t{5}), many);
  for (std::int32_t i = 0; i < 1000; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(greater.data<bool>()[at], i > 700);
    EXPECT_EQ(less.data<bool>()[at], 700 < i);
    EXPECT_EQ(sums.data<std::int32_t>()[at], i + 5);
  }
}

TEST(MathKernels, WorkElementByElement) {
  const Tensor x = Tensor::of<float>({1, -2, 3});
  const Tensor y = Tensor::of<float>({4, 5, -2});
  EXPECT_EQ(binary("AddV2", x, y), Tensor::of<float>({5, 3, 1}));
  EXPECT_EQ(binary("Sub", x, y), Tensor::of<float>({-3, -7, 5}));
  EXPECT_EQ(binary("Mul", x, y), Tensor::of<float>({4, -10, -6}));
  EXPECT_EQ(binary("RealDiv", x, y), Tensor::of<float>({0.25F, -0.4F, -1.5F}));
  EXPECT_EQ(binary("Maximum", x, y), Tensor::of<float>({4, 5, 3}));
  EXPECT_EQ(binary("Minimum", x, y), Tensor::of<float>({1, -2, -2}));
  EXPECT_EQ(binary("SquaredDifference", x, y), Tensor::of<float>({9, 49, 25}));
}

TEST(MathKernels, BroadcastAsNumPyDoes) {
  const Tensor column = Tensor::of<float>({1, 2}, {2, 1});
  const Tensor row = Tensor::of<float>({10, 20, 30});
  EXPECT_EQ(binary("AddV2", column, row), Tensor::of<float>({11, 21, 31, 12, 22, 32}, {2, 3}));
  EXPECT_EQ(binary("Sub", row, column), Tensor::of<float>({9, 19, 29, 8, 18, 28}, {2, 3}));
  EXPECT_EQ(binary("Mul", Tensor(2.0F), row), Tensor::of<float>({20, 40, 60}));
  EXPECT_EQ(binary("Sub", row, Tensor(1.0F)), Tensor::of<float>({9, 19, 29}));
  EXPECT_EQ(binary("AddV2", Tensor(1.0F), Tensor(2.0F)), Tensor(3.0F));
  EXPECT_EQ(binary("AddV2", Tensor::of<float>({1}, {1, 1}), Tensor(2.0F)), Tensor::of<float>({3}, {1, 1}));
  EXPECT_EQ(binary("AddV2", Tensor(DType::Float, Shape{0, 3}), row).shape(), (Shape{0, 3}));
  const Tensor cube = Tensor::of<std::int32_t>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
  EXPECT_EQ(binary("AddV2", cube, Tensor::of<std::int32_t>({10, 20}, {2, 1})),
            Tensor::of<std::int32_t>({11, 12, 23, 24, 15, 16, 27, 28}, {2, 2, 2}));
}

TEST(MathKernels, DivideIntegersTowardsMinusInfinity) {
  const Tensor x = Tensor::of<std::int32_t>({7, -7, 7, -7});
  const Tensor y = Tensor::of<std::int32_t>({2, 2, -2, -2});
  EXPECT_EQ(binary("FloorDiv", x, y), Tensor::of<std::int32_t>({3, -4, -4, 3}));
  EXPECT_EQ(binary("FloorMod", x, y), Tensor::of<std::int32_t>({1, 1, -1, -1}));
  EXPECT_EQ(binary("FloorMod", Tensor::of<float>({-7}), Tensor::of<float>({2})), Tensor::of<float>({1}));
  EXPECT_THROW(binary("FloorDiv", x, Tensor(std::int32_t{0})), InvalidArgumentError);
  EXPECT_EQ(binary("FloorDiv", Tensor((std::numeric_limits<std::int32_t>::max)()), Tensor(std::int32_t{-1}))
                .scalar<std::int32_t>(),
            -(std::numeric_limits<std::int32_t>::max)());
}

TEST(MathKernels, KeepNanOnEitherSideOfExtremes) {
  for (const std::int64_t size : {1, 3, 8, 37}) {
    Tensor ones(DType::Float, Shape{size});
    Tensor mixed(DType::Float, Shape{size});
    for (float& value : ones.mutable_data<float>()) value = 1;
    for (std::int64_t i = 0; i < size; ++i)
      mixed.mutable_data<float>()[static_cast<std::size_t>(i)] = i % 2 == 0 ? NAN : 2.0F;
    for (const Tensor& result :
         {binary("Maximum", ones, mixed), binary("Maximum", mixed, ones), binary("Maximum", mixed, Tensor(1.0F)),
          binary("Minimum", ones, mixed), binary("Minimum", mixed, ones), binary("Minimum", Tensor(1.0F), mixed)}) {
      for (std::size_t i = 0; i < result.data<float>().size(); ++i)
        EXPECT_EQ(std::isnan(result.data<float>()[i]), i % 2 == 0);
    }
  }
  EXPECT_TRUE(std::isnan(unary("Sign", Tensor(NAN)).scalar<float>()));
}

TEST(MathKernels, ApplyFunctionsToFloatsAsTheStandardLibraryDoes) {
  Tensor x(DType::Float, Shape{101});
  for (std::int64_t i = 0; i < 101; ++i)
    x.mutable_data<float>()[static_cast<std::size_t>(i)] = 0.01F + static_cast<float>(i) * 0.37F;
  const auto expect_near = [&](const std::string& type, double (*function)(double)) {
    const Tensor result = unary(type, x);
    for (std::size_t i = 0; i < 101; ++i) {
      const double expected = function(static_cast<double>(x.data<float>()[i]));
      EXPECT_NEAR(result.data<float>()[i], expected, 1e-6 * std::max(1.0, std::abs(expected)))
          << type << ' ' << x.data<float>()[i];
    }
  };
  expect_near("Exp", std::exp);
  expect_near("Log", std::log);
  expect_near("Log1p", std::log1p);
  expect_near("Sqrt", std::sqrt);
  expect_near("Sin", std::sin);
  expect_near("Cos", std::cos);
  expect_near("Floor", std::floor);
  expect_near("Rsqrt", [](double v) { return 1 / std::sqrt(v); });
  expect_near("Reciprocal", [](double v) { return 1 / v; });
}

TEST(MathKernels, GiveRootsNoGradientIfNoneComes) {
  const Tensor gradient = Tensor::of<float>({0, 0, -0.0F, 0, 2, 2, NAN});
  const Tensor root = Tensor::of<float>({0, INFINITY, NAN, 3, 4, 0, 4});
  const auto expect = [&](const std::string& type, float slope, float at_zero) {
    const Tensor result = binary(type, root, gradient);
    const auto found = result.data<float>();
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(found[i], 0) << type << ' ' << i;
    EXPECT_EQ(found[4], slope) << type;
    EXPECT_EQ(found[5], at_zero) << type;
    EXPECT_TRUE(std::isnan(found[6])) << type;
  };
  expect("SqrtGrad", 0.25F, INFINITY);
  expect("RsqrtGrad", -64, 0);
  expect("ReciprocalGrad", -32, 0);
  EXPECT_EQ(binary("RsqrtGrad", Tensor(INFINITY), Tensor(1.0F)), Tensor(-INFINITY));
  EXPECT_EQ(binary("ReciprocalGrad", Tensor(INFINITY), Tensor(1.0F)), Tensor(-INFINITY));
  EXPECT_THROW(binary("SqrtGrad", root, Tensor(1.0F)), InvalidArgumentError);
}

TEST(MathKernels, TakeRootsOfTheSmallestAndTheLargestNumbers) {
  constexpr float kLeast = (std::numeric_limits<float>::min)();
  constexpr float kMost = (std::numeric_limits<float>::max)();
  for (const std::int64_t repeats : {1, 3, 8}) {
    for (const float value : {kLeast, kLeast * 1.5F, kLeast * 3, 1e-30F, 1.0F, 1e30F, kMost, INFINITY}) {
      Tensor x(DType::Float, Shape{repeats});
      std::ranges::fill(x.mutable_data<float>(), value);
      const float root = std::sqrt(value);
      const Tensor roots = unary("Sqrt", x);
      const Tensor inverses = unary("Rsqrt", x);
      for (const float found : roots.data<float>()) EXPECT_EQ(found, root) << value;
      for (const float found : inverses.data<float>()) EXPECT_FLOAT_EQ(found, 1 / root) << value;
    }
  }
}

TEST(MathKernels, TakeRootsOfDenormalsAsOfZero) {
  constexpr float kDenormal = (std::numeric_limits<float>::min)() / 2;
  const Tensor x = Tensor::of<float>({0, -0.0F, kDenormal, -kDenormal, -1, NAN});
  const Tensor roots = unary("Sqrt", x);
  const Tensor inverses = unary("Rsqrt", x);
#if defined(__SSE2__)
  const std::size_t zeros = 4;
#else
  const std::size_t zeros = 2;
#endif
  for (std::size_t i = 0; i < zeros; ++i) {
    EXPECT_EQ(roots.data<float>()[i], 0) << i;
    EXPECT_EQ(inverses.data<float>()[i], i % 2 == 0 ? INFINITY : -INFINITY) << i;
  }
  for (std::size_t i = 4; i < 6; ++i) {
    EXPECT_TRUE(std::isnan(roots.data<float>()[i])) << i;
    EXPECT_TRUE(std::isnan(inverses.data<float>()[i])) << i;
  }
}

/// Enough elements for vectors, or single ones behind these.
template <class T>
Tensor repeated(T value, std::int64_t count) {
  Tensor tensor(dtype_of<T>, Shape{count});
  std::ranges::fill(tensor.template mutable_data<T>(), value);
  return tensor;
}

template <class T>
void expect_logarithms_of_denormals() {
#if defined(__SSE2__)
  using Limits = std::numeric_limits<T>;
  for (const std::int64_t count : {1, 2, 3, 7, 19}) {
    for (const T value : {Limits::denorm_min(), (Limits::min)() / 2, std::nextafter((Limits::min)(), T{0})}) {
      const Tensor found = unary("Log", repeated(value, count));
      for (const T logarithm : found.data<T>()) EXPECT_EQ(logarithm, -Limits::infinity()) << count << ' ' << value;
      const Tensor power = binary("Pow", repeated(-value, count), repeated(T{0.75}, count));
      for (const T element : power.data<T>()) EXPECT_EQ(element, 0) << count << ' ' << value;
    }
  }
#endif
}

TEST(MathKernels, TakeLogarithmsAndPowersOfDenormalsAsOfZero) {  // so does TensorFlow
  expect_logarithms_of_denormals<float>();
  expect_logarithms_of_denormals<double>();
}

template <class T>
void expect_logarithms() {
  using Limits = std::numeric_limits<T>;
  for (int exponent = Limits::min_exponent - 1; exponent < Limits::max_exponent; ++exponent) {
    for (const double mantissa : {1.0, 1.3, 1.9999}) {
      const T value = std::ldexp(static_cast<T>(mantissa), exponent);
      const T exact = std::log(value);
      const T ulp = std::nextafter(std::abs(exact), Limits::infinity()) - std::abs(exact);
      const Tensor found = unary("Log", repeated(value, 5));
      for (const T logarithm : found.data<T>()) ASSERT_NEAR(logarithm, exact, 2 * ulp) << value;
    }
  }
}

TEST(MathKernels, TakeLogarithmsOfAllExponents) {
  expect_logarithms<float>();
  expect_logarithms<double>();
}

TEST(MathKernels, RaiseToPowers) {
  EXPECT_EQ(binary("Pow", Tensor::of<std::int64_t>({2, -3, 5}), Tensor::of<std::int64_t>({10, 3, 0})),
            Tensor::of<std::int64_t>({1024, -27, 1}));
  EXPECT_EQ(binary("Pow", Tensor::of<double>({4}), Tensor::of<double>({0.5})), Tensor::of<double>({2}));
  EXPECT_THROW(binary("Pow", Tensor(std::int32_t{2}), Tensor(std::int32_t{-1})), InvalidArgumentError);
}

TEST(MathKernels, Compare) {
  const Tensor x = Tensor::of<std::int32_t>({1, 2, 3});
  EXPECT_EQ(compared("Less", x, Tensor(std::int32_t{2})), Tensor::of<bool>({true, false, false}));
  EXPECT_EQ(compared("LessEqual", x, Tensor(std::int32_t{2})), Tensor::of<bool>({true, true, false}));
  EXPECT_EQ(compared("Greater", x, Tensor(std::int32_t{2})), Tensor::of<bool>({false, false, true}));
  EXPECT_EQ(compared("GreaterEqual", x, Tensor(std::int32_t{2})), Tensor::of<bool>({false, true, true}));
  EXPECT_EQ(compared("Equal", Tensor::of<std::string>({"a", "b"}), Tensor("b")), Tensor::of<bool>({false, true}));
  EXPECT_EQ(compared("NotEqual", Tensor::of<float>({1, NAN}), Tensor::of<float>({1, NAN})),
            Tensor::of<bool>({false, true}));
}

TEST(MathKernels, CombineTruthValues) {
  const Tensor x = Tensor::of<bool>({false, false, true, true});
  const Tensor y = Tensor::of<bool>({false, true, false, true});
  EXPECT_EQ(test::run_op(kernels::math(), "LogicalAnd", {x, y}, {}, DType::Bool),
            Tensor::of<bool>({false, false, false, true}));
  EXPECT_EQ(test::run_op(kernels::math(), "LogicalOr", {x, y}, {}, DType::Bool),
            Tensor::of<bool>({false, true, true, true}));
  EXPECT_EQ(test::run_op(kernels::math(), "LogicalNot", {x}, {}, DType::Bool),
            Tensor::of<bool>({true, true, false, false}));
  Tensor many(DType::Bool, {75});
  Tensor others(DType::Bool, {75});
  for (std::size_t i = 0; i < 75; ++i) (i % 3 == 0 ? many : others).mutable_data<bool>()[i] = true;
  EXPECT_EQ(test::run_op(kernels::math(), "LogicalNot", {many}, {}, DType::Bool), others);
}

TEST(MathKernels, ApplyFunctions) {
  const Tensor x = Tensor::of<double>({0.25, 1, 4});
  const auto expect_near = [&](const std::string& type, double (*function)(double)) {
    const Tensor result = unary(type, x);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(result.data<double>()[i], function(x.data<double>()[i]), 1e-14) << type;
  };
  expect_near("Exp", std::exp);
  expect_near("Log", std::log);
  expect_near("Log1p", std::log1p);
  expect_near("Sqrt", std::sqrt);
  expect_near("Sin", std::sin);
  expect_near("Cos", std::cos);
  expect_near("Floor", std::floor);
  expect_near("Rsqrt", [](double v) { return 1 / std::sqrt(v); });
  expect_near("Reciprocal", [](double v) { return 1 / v; });
  const Tensor signs = Tensor::of<std::int32_t>({-3, 0, 5});
  EXPECT_EQ(unary("Abs", signs), Tensor::of<std::int32_t>({3, 0, 5}));
  EXPECT_EQ(unary("Neg", signs), Tensor::of<std::int32_t>({3, 0, -5}));
  EXPECT_EQ(unary("Sign", signs), Tensor::of<std::int32_t>({-1, 0, 1}));
  EXPECT_EQ(unary("Square", signs), Tensor::of<std::int32_t>({9, 0, 25}));
}

TEST(MathKernels, TellFiniteNumbersFromOthers) {
  const Tensor x = Tensor::of<float>({1, NAN, -INFINITY});
  const auto is = [&](const std::string& type) {
    return test::run_op(kernels::math(), type, {x}, {{"T", DType::Float}}, DType::Bool);
  };
  EXPECT_EQ(is("IsFinite"), Tensor::of<bool>({true, false, false}));
  EXPECT_EQ(is("IsNan"), Tensor::of<bool>({false, true, false}));
  EXPECT_EQ(is("IsInf"), Tensor::of<bool>({false, false, true}));
}

TEST(MathKernels, CheckNumericsLetsFiniteNumbersPass) {
  const Attrs attrs{{"T", DType::Float}, {"message", std::string("loss")}};
  EXPECT_EQ(test::run_op(kernels::math(), "CheckNumerics", {Tensor::of<float>({1, 2})}, attrs, DType::Float),
            Tensor::of<float>({1, 2}));
  try {
    test::run_op(kernels::math(), "CheckNumerics", {Tensor::of<float>({1, NAN})}, attrs, DType::Float);
    FAIL() << "no error";
  } catch (const InvalidArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("loss : Tensor had NaN values"), std::string::npos) << error.what();
  }
}

TEST(MathKernels, AddManyTensors) {
  const Tensor x = Tensor::of<float>({1, 2});
  EXPECT_EQ(
      test::run_op(kernels::math(), "AddN", {x, x, x}, {{"T", DType::Float}, {"N", std::int64_t{3}}}, DType::Float),
      Tensor::of<float>({3, 6}));
}

TEST(MathKernels, NameTheDtypeThatTheyLack) {
  try {
    binary("AddV2", Tensor("a"), Tensor("b"));
    FAIL() << "no error";
  } catch (const UnimplementedError& error) {
    EXPECT_NE(std::string(error.what()).find("AddV2 of string (node 'tested')"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace trainhook
