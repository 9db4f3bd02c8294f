// SPDX-License-Identifier: Apache-2.0
/// @file
/// Which tensors a hook takes one value of.
#include <trainhook/hooks/text/single_values.hpp>

#include <gtest/gtest.h>

#include <expect_error.hpp>

#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/ops/constant.hpp>

namespace trainhook::detail {
namespace {

using testing::expect_error;

/// A tensor of that dtype and shape, given to a hook that takes numbers, or texts too.
FetchList given(DType dtype, const PartialShape& shape, Takes takes) {
  Graph graph;
  return resolve_single_values(placeholder(graph, dtype, shape, "it"), graph, "MyHook", takes);
}

TEST(SingleValues, EveryNumberIsTaken) {
  for (const DTypeInfo& info : kDTypes) {
    if (!is_floating(info.dtype) && !is_integer(info.dtype) && info.dtype != DType::Bool) continue;
    EXPECT_EQ(given(info.dtype, Shape{}, Takes::Numbers).size(), 1U) << info.name;
  }
}

TEST(SingleValues, ATextIsTakenByAHookThatWritesTexts) {
  EXPECT_EQ(given(DType::String, Shape{}, Takes::NumbersAndTexts).size(), 1U);
  expect_error({"MyHook", "'it:0'", "string", "numbers and bools", "its size"},
               [] { given(DType::String, Shape{}, Takes::Numbers); });
}

TEST(SingleValues, WhatIsNoNumberIsRefusedWithAWayOut) {
  expect_error({"MyHook", "'it:0'", "complex64", "its absolute value"},
               [] { given(DType::Complex64, Shape{}, Takes::NumbersAndTexts); });
  expect_error({"complex128", "its absolute value"}, [] { given(DType::Complex128, Shape{}, Takes::Numbers); });
}

TEST(SingleValues, SoIsAShapeThatIsNeverOneElement) {
  expect_error({"MyHook", "'it:0'", "float32[2]", "its mean"}, [] { given(DType::Float, Shape{2}, Takes::Numbers); });
  expect_error({"float32[?,0]"}, [] { given(DType::Float, PartialShape{kUnknownDim, 0}, Takes::Numbers); });
  EXPECT_EQ(given(DType::Float, PartialShape{1, kUnknownDim}, Takes::Numbers).size(), 1U);
  EXPECT_EQ(given(DType::Float, PartialShape(), Takes::Numbers).size(), 1U);
}

}  // namespace
}  // namespace trainhook::detail
