// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shapes and errors of functions beyond plain arithmetic.
#include <trainhook/model/ops/special.hpp>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

TEST(SpecialOps, DivideNoNanBroadcastsAndTakesNumbers) {
  Graph graph;
  const Output x = placeholder(graph, DType::Float, {2, -1}, "x");
  EXPECT_EQ(divide_no_nan(x, placeholder(graph, DType::Float, {4})).shape(), PartialShape({2, 4}));
  EXPECT_EQ(divide_no_nan(x, 2).node().inputs()[1].dtype(), DType::Float);
  testing::expect_error({"DivNoNan", "floating"}, [&] {
    const Output n = placeholder(graph, DType::Int32, {2});
    divide_no_nan(n, n);
  });
}

TEST(SpecialOps, ErfKeepsTheShapeAndWantsFloats) {
  Graph graph;
  EXPECT_EQ(erf(placeholder(graph, DType::Double, {2, -1})).shape(), PartialShape({2, -1}));
  testing::expect_error({"Erf", "floating"}, [&] { erf(placeholder(graph, DType::Int32, {2})); });
}

TEST(SpecialOps, FunctionsKeepTheShapeAndRoundTakesIntegers) {
  Graph graph;
  const Output x = placeholder(graph, DType::Double, {2, -1});
  for (const auto& build : {acos, asin, atan, tan, cosh, sinh, expm1, ceil, round, rint})
    EXPECT_EQ(build(x, "").shape(), PartialShape({2, -1}));
  EXPECT_EQ(round(placeholder(graph, DType::Int32, {3})).dtype(), DType::Int32);
  testing::expect_error({"Ceil", "floating"}, [&] { ceil(placeholder(graph, DType::Int32, {2})); });
}

}  // namespace
}  // namespace trainhook
