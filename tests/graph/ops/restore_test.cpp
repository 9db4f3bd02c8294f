// SPDX-License-Identifier: Apache-2.0
/// @file
/// The node that reads a checkpoint.
#include <trainhook/graph/ops/restore.hpp>

#include <vector>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

TEST(RestoreOps, HaveTheDtypesAndShapesThatAreWanted) {
  Graph graph;
  const std::vector<Output> values =
      restore_v2(graph, "run/model", {{"a", "", {DType::Float, Shape{2}}}, {"b", "4 2 0,2:0,2", {DType::Int64, {}}}});
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values[0].dtype(), DType::Float);
  EXPECT_EQ(values[0].shape(), PartialShape({2}));
  EXPECT_EQ(values[1].dtype(), DType::Int64);
  EXPECT_EQ(values[1].name(), "RestoreV2:1");
  EXPECT_EQ(graph.operation("RestoreV2").node().inputs()[2].name(), "RestoreV2/shape_and_slices:0");
}

}  // namespace
}  // namespace trainhook
