// SPDX-License-Identifier: Apache-2.0
/// @file
/// Numbers beside outputs.
#include <trainhook/graph/operand.hpp>

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/cast.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/model/ops/math.hpp>
#include <trainhook/model/ops/slice.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

struct OperandTest : ::testing::Test {
  static const Tensor& right(const Output& result) { return result.node().inputs()[1].node().attr<Tensor>("value"); }
  Graph graph;
  Output x = placeholder(graph, DType::Float, {2}, "x");
  Output n = placeholder(graph, DType::Int32, {2}, "n");
};

TEST_F(OperandTest, TakesTheDtypeOfTheOtherOperand) {
  EXPECT_EQ(right(maximum(x, 0)), Tensor(0.0F));
  EXPECT_EQ(right(n * 3.0), Tensor(std::int32_t{3}));
  EXPECT_EQ(right(equal(n, 7U)), Tensor(std::int32_t{7}));
  EXPECT_EQ(pow(2, x).node().inputs()[0].node().attr<Tensor>("value"), Tensor(2.0F));
  EXPECT_EQ(clip_by_value(x, -1, 1.5).shape(), PartialShape({2}));
  EXPECT_EQ(where(greater(x, 0), x, 0.5).dtype(), DType::Float);
  const Variable step = make_variable("step", constant(graph, Tensor(std::int64_t{0})));
  EXPECT_EQ(right(assign_add(step, 1)), Tensor(std::int64_t{1}));
}

TEST_F(OperandTest, KeepsEveryBitOfALargeInteger) {
  const Output large = placeholder(graph, DType::Int64, Shape{}, "large");
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(right(large - most), Tensor(most));
  EXPECT_EQ(right(placeholder(graph, DType::UInt64, Shape{}) + std::numeric_limits<std::uint64_t>::max()),
            Tensor(std::numeric_limits<std::uint64_t>::max()));
}

TEST_F(OperandTest, RefusesANumberThatTheDtypeDoesNotHave) {
  expect_error({"0.5", "int32", "cast()"}, [&] { n * 0.5; });
  expect_error({"3000000000", "int32"}, [&] { n + 3'000'000'000; });
  expect_error({"-1", "uint8"}, [&] { placeholder(graph, DType::UInt8, Shape{}) + -1; });
  expect_error({"nan", "int32"}, [&] { n + std::numeric_limits<double>::quiet_NaN(); });
}

TEST_F(OperandTest, NeedsAnOutputBesideIt) {
  expect_error({"Maximum", "1", "2", "constant()"}, [] { maximum(1, 2); });
  expect_error({"AddV2", "empty"}, [] { Output() + 1; });
  expect_error({"AddV2", "empty"}, [&] { x + Output(); });
  const Variable three = make_variable("three", zeros(graph, Shape{3}));
  expect_error({"Assign", "three", "float32[3]"}, [&] { assign(three, 1); });
}

}  // namespace
}  // namespace trainhook
