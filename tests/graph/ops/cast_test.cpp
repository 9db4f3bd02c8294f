// SPDX-License-Identifier: Apache-2.0
/// @file
/// The op that converts.
#include <trainhook/graph/ops/cast.hpp>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

TEST(CastOp, ToItsOwnDtypeAddsNoNode) {
  Graph graph;
  const Output x = placeholder(graph, DType::Float, {2}, "x");
  EXPECT_EQ(cast(x, DType::Float), x);
  const Output y = cast(x, DType::Int32);
  EXPECT_EQ(y.dtype(), DType::Int32);
  EXPECT_EQ(y.node().attr<DType>("SrcT"), DType::Float);
  EXPECT_EQ(y.node().attr<DType>("DstT"), DType::Int32);
  expect_error({"string"}, [&] { cast(x, DType::String); });
}

}  // namespace
}  // namespace trainhook
