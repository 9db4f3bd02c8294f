// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, reductions over dimensions.
#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "run_op.hpp"

namespace trainhook {
namespace {

Tensor reduce(const std::string& type, const Tensor& x, const Tensor& axes, bool keep_dims = false) {
  return test::run_op(kernels::reduction(), type, {x, axes},
                      {{"T", x.dtype()}, {"Tidx", axes.dtype()}, {"keep_dims", keep_dims}}, x.dtype());
}
Tensor axes(std::initializer_list<std::int32_t> values) { return Tensor::of<std::int32_t>(values); }

const Tensor& cube() {
  static const Tensor tensor = Tensor::of<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {2, 3, 2});
  return tensor;
}

TEST(ReductionKernels, SumAlongAnyAxes) {
  EXPECT_EQ(reduce("Sum", cube(), axes({0, 1, 2})), Tensor(78.0F));
  EXPECT_EQ(reduce("Sum", cube(), axes({0})), Tensor::of<float>({8, 10, 12, 14, 16, 18}, {3, 2}));
  EXPECT_EQ(reduce("Sum", cube(), axes({1})), Tensor::of<float>({9, 12, 27, 30}, {2, 2}));
  EXPECT_EQ(reduce("Sum", cube(), axes({-1})), Tensor::of<float>({3, 7, 11, 15, 19, 23}, {2, 3}));
  EXPECT_EQ(reduce("Sum", cube(), axes({0, 2})), Tensor::of<float>({18, 26, 34}));
  EXPECT_EQ(reduce("Sum", cube(), axes({})), cube());
  EXPECT_EQ(reduce("Sum", cube(), axes({0, 2}), true), Tensor::of<float>({18, 26, 34}, {1, 3, 1}));
  EXPECT_THROW(reduce("Sum", cube(), axes({3})), InvalidArgumentError);
}

TEST(ReductionKernels, FindMeansProductsAndExtremes) {
  EXPECT_EQ(reduce("Mean", cube(), axes({1})), Tensor::of<float>({3, 4, 9, 10}, {2, 2}));
  EXPECT_EQ(reduce("Prod", cube(), axes({1, 2})), Tensor::of<float>({720, 665280}));
  EXPECT_EQ(reduce("Max", cube(), axes({0, 1})), Tensor::of<float>({11, 12}));
  EXPECT_EQ(reduce("Min", cube(), axes({1, 2})), Tensor::of<float>({1, 7}));
  EXPECT_EQ(reduce("Mean", Tensor::of<std::int32_t>({1, 2, 4}), axes({0})), Tensor(std::int32_t{2}));
  EXPECT_TRUE(std::isnan(reduce("Max", Tensor::of<float>({1, NAN, 2}), axes({0})).scalar<float>()));
}

TEST(ReductionKernels, FindMeansOfIntegersWhoseSumTheirDTypeCannotHold) {
  constexpr std::int32_t kMost = (std::numeric_limits<std::int32_t>::max)();
  constexpr std::int32_t kLeast = (std::numeric_limits<std::int32_t>::min)();
  const Tensor x = Tensor::of<std::int32_t>({kMost, kMost, kMost - 3, kLeast, kLeast, kLeast}, {2, 3});
  EXPECT_EQ(reduce("Mean", x, axes({1})), Tensor::of<std::int32_t>({kMost - 1, kLeast}));
  EXPECT_EQ(reduce("Mean", x, axes({0})), Tensor::of<std::int32_t>({0, 0, -2}));
  EXPECT_EQ(reduce("Mean", x, axes({0, 1}), true), Tensor::of<std::int32_t>({-1}, {1, 1}));
  EXPECT_EQ(reduce("Mean", x, axes({})), x);
  const Tensor pixels = Tensor::of<std::uint8_t>({255, 255, 254, 3, 4, 4}, {2, 3});
  EXPECT_EQ(reduce("Mean", pixels, axes({1})), Tensor::of<std::uint8_t>({254, 3}));
  EXPECT_EQ(reduce("Mean", pixels, axes({0})), Tensor::of<std::uint8_t>({129, 129, 129}));
  constexpr std::int64_t kLarge = std::int64_t{1} << 40;
  EXPECT_EQ(reduce("Mean", Tensor::of<std::int64_t>({kLarge, kLarge + 3}), axes({0})), Tensor(kLarge + 1));
}

TEST(ReductionKernels, RoundMeansOfIntegersTowardsZero) {
  const Tensor x = Tensor::of<std::int32_t>({-1, -2, -3, 5, -1, -1, -1, -1, -3, 1, 0, 0, 3, 3, 3, 2}, {4, 4});
  EXPECT_EQ(reduce("Mean", x, axes({1})), Tensor::of<std::int32_t>({0, -1, 0, 2}));
  EXPECT_EQ(reduce("Mean", x, axes({0})), Tensor::of<std::int32_t>({0, 0, 0, 1}));
}

TEST(ReductionKernels, KeepNanInExtremesAlongAnyAxis) {
  for (const std::int64_t rows : {1, 5, 19}) {
    for (const std::int64_t columns : {1, 4, 37}) {
      Tensor x(DType::Float, Shape{rows, columns});
      for (std::int64_t i = 0; i < rows * columns; ++i) {
        x.mutable_data<float>()[static_cast<std::size_t>(i)] =
            i == rows * columns / 2 ? NAN : static_cast<float>(i % 11);
      }
      for (const std::string type : {"Max", "Min"}) {
        EXPECT_TRUE(std::isnan(reduce(type, x, axes({0, 1})).scalar<float>()));
        for (const std::int32_t axis : {0, 1}) {
          const Tensor result = reduce(type, x, axes({axis}));
          std::size_t nans = 0;
          for (const float value : result.data<float>()) nans += std::isnan(value) ? 1U : 0U;
          EXPECT_EQ(nans, 1U) << type << ' ' << axis << ' ' << rows << ' ' << columns;
        }
      }
    }
  }
}

TEST(ReductionKernels, ReduceNothingToTheNeutralElement) {
  const Tensor empty(DType::Float, Shape{0, 2});
  EXPECT_EQ(reduce("Sum", empty, axes({0})), Tensor::of<float>({0, 0}));
  EXPECT_EQ(reduce("Prod", empty, axes({0})), Tensor::of<float>({1, 1}));
  EXPECT_EQ(reduce("Max", empty, axes({0})), Tensor::of<float>({-INFINITY, -INFINITY}));
  EXPECT_TRUE(std::isnan(reduce("Mean", empty, axes({0})).data<float>()[0]));
  EXPECT_THROW(reduce("Mean", Tensor(DType::Int32, Shape{0, 2}), axes({0})), InvalidArgumentError);
}

TEST(ReductionKernels, AccumulateAlongAnAxis) {
  const Tensor x = Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  const auto along = [&](const std::string& type, std::int32_t axis, bool exclusive, bool reverse) {
    return test::run_op(kernels::reduction(), type, {x, Tensor(axis)},
                        {{"T", DType::Float}, {"Tidx", DType::Int32}, {"exclusive", exclusive}, {"reverse", reverse}},
                        DType::Float);
  };
  const auto expect = [&](const Tensor& found, std::initializer_list<float> values) {
    EXPECT_EQ(found, Tensor::of<float>(values, {2, 3}));
  };
  expect(along("Cumsum", 0, false, false), {1, 2, 3, 5, 7, 9});
  expect(along("Cumsum", 0, true, false), {0, 0, 0, 1, 2, 3});
  expect(along("Cumsum", 0, false, true), {5, 7, 9, 4, 5, 6});
  expect(along("Cumsum", -1, false, false), {1, 3, 6, 4, 9, 15});
  expect(along("Cumsum", 1, true, true), {5, 3, 0, 11, 6, 0});
  expect(along("Cumprod", 1, false, false), {1, 2, 6, 4, 20, 120});
  expect(along("Cumprod", 1, true, false), {1, 1, 2, 1, 4, 20});
  expect(along("Cumprod", 1, true, true), {6, 3, 1, 30, 6, 1});
  EXPECT_THROW(along("Cumsum", 2, false, false), InvalidArgumentError);
}

TEST(ReductionKernels, AccumulateNothing) {
  const Tensor empty(DType::Float, Shape{0, 2});
  const Attrs attrs{{"T", DType::Float}, {"Tidx", DType::Int32}, {"exclusive", true}, {"reverse", false}};
  for (const std::int32_t axis : {0, 1}) {
    EXPECT_EQ(test::run_op(kernels::reduction(), "Cumprod", {empty, Tensor(axis)}, attrs, DType::Float).shape(),
              (Shape{0, 2}));
  }
}

TEST(ReductionKernels, ReduceTruthValues) {
  const Tensor x = Tensor::of<bool>({true, false, true, true}, {2, 2});
  const auto logical = [&](const std::string& type) {
    return test::run_op(kernels::reduction(), type, {x, axes({1})}, {{"keep_dims", false}}, DType::Bool);
  };
  EXPECT_EQ(logical("All"), Tensor::of<bool>({false, true}));
  EXPECT_EQ(logical("Any"), Tensor::of<bool>({true, true}));
}

TEST(ReductionKernels, FindOneTruthValueAmongMany) {
  const auto logical = [](const std::string& type, const Tensor& x) {
    return test::run_op(kernels::reduction(), type, {x, axes({0})}, {{"keep_dims", false}}, DType::Bool).scalar<bool>();
  };
  for (const std::size_t at : {std::size_t{0}, std::size_t{31}, std::size_t{99}}) {
    Tensor one(DType::Bool, {100});
    EXPECT_FALSE(logical("Any", one));
    one.mutable_data<bool>()[at] = true;
    EXPECT_TRUE(logical("Any", one));
    Tensor all_but_one(DType::Bool, {100});
    for (bool& element : all_but_one.mutable_data<bool>()) element = true;
    EXPECT_TRUE(logical("All", all_but_one));
    all_but_one.mutable_data<bool>()[at] = false;
    EXPECT_FALSE(logical("All", all_but_one));
  }
}

TEST(ReductionKernels, JoinManyShortRows) {
  for (const std::int64_t width : {1, 3, 16, 100, 300}) {
    Tensor x(DType::Int64, {2, 533, width});
    Tensor sums(DType::Int64, {2, width});
    Tensor largest(DType::Int64, {2, width});
    for (std::int64_t i = 0; i < x.num_elements(); ++i) {
      const std::int64_t value = i * 7919 % 1009 + 1;
      x.mutable_data<std::int64_t>()[static_cast<std::size_t>(i)] = value;
      const auto column = static_cast<std::size_t>(i / (533 * width) * width + i % width);
      sums.mutable_data<std::int64_t>()[column] += value;
      largest.mutable_data<std::int64_t>()[column] = (std::max)(largest.data<std::int64_t>()[column], value);
    }
    EXPECT_EQ(reduce("Sum", x, axes({1})), sums) << width;
    EXPECT_EQ(reduce("Max", x, axes({1})), largest) << width;
  }
}

TEST(ReductionKernels, FindTheFirstLargestElement) {
  const Tensor x = Tensor::of<float>({1, 5, 5, 7, 2, 0}, {2, 3});
  const auto arg = [&](const std::string& type, std::int32_t axis, DType dtype) {
    return test::run_op(kernels::reduction(), type, {x, Tensor(axis)},
                        {{"T", DType::Float}, {"Tidx", DType::Int32}, {"output_type", dtype}}, dtype);
  };
  EXPECT_EQ(arg("ArgMax", 1, DType::Int64), Tensor::of<std::int64_t>({1, 0}));
  EXPECT_EQ(arg("ArgMax", 0, DType::Int32), Tensor::of<std::int32_t>({1, 0, 0}));
  EXPECT_EQ(arg("ArgMin", -1, DType::Int64), Tensor::of<std::int64_t>({0, 2}));
}

TEST(ReductionKernels, HalveTheSumOfSquares) {
  EXPECT_EQ(
      test::run_op(kernels::reduction(), "L2Loss", {Tensor::of<float>({1, 2, 3})}, {{"T", DType::Float}}, DType::Float),
      Tensor(7.0F));
}

}  // namespace
}  // namespace trainhook
