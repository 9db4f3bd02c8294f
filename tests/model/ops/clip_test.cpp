// SPDX-License-Identifier: Apache-2.0
/// @file
/// Clipping by a norm over several tensors.
#include <trainhook/model/ops/clip.hpp>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

TEST(ClipOps, KeepTheOrderAndLeaveOutWhatIsEmpty) {
  Graph graph;
  const Output a = placeholder(graph, DType::Float, {-1, 3}, "a");
  const Output b = placeholder(graph, DType::Float, {2}, "b");
  const ClippedByNorm clipped = clip_by_global_norm({a, Output(), b}, 5);
  ASSERT_EQ(clipped.tensors.size(), 3U);
  EXPECT_EQ(clipped.tensors[0].shape(), PartialShape({-1, 3}));
  EXPECT_FALSE(clipped.tensors[1].has_value());
  EXPECT_EQ(clipped.tensors[2].node().inputs()[0], b);
  EXPECT_EQ(clipped.norm.name(), "global_norm:0");
  EXPECT_EQ(clipped.norm.shape(), PartialShape(Shape{}));
}

TEST(ClipOps, RefuseNothingAndANormThatIsNotPositive) {
  Graph graph;
  testing::expect_error({"at least one"}, [] { clip_by_global_norm({Output()}, 1); });
  testing::expect_error({"clip_norm 0"}, [&] { clip_by_global_norm({placeholder(graph, DType::Float, {2})}, 0); });
}

}  // namespace
}  // namespace trainhook
