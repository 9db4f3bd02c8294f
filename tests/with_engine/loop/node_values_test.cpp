// SPDX-License-Identifier: Apache-2.0
/// @file
/// Values of nodes that compute: a loop has none.
#include <trainhook/loop/node_values.hpp>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/ops/math.hpp>

namespace trainhook {
namespace {

TEST(NodeValues, RefuseMaths) {
  Graph graph;
  detail::NodeValues values{graph};
  const Output loss = placeholder(graph, DType::Float, Shape{}, "loss");
  values.set_leaf(loss.node(), [] { return Tensor(1.0F); });
  values.begin_run({});
  EXPECT_EQ(values.get(loss), Tensor(1.0F));
  EXPECT_THROW((void)values.get(multiply(loss, loss)), UnimplementedError);
  EXPECT_THROW((void)values.get(add(loss, loss)), UnimplementedError);
  values.end_run();
}

}  // namespace
}  // namespace trainhook
