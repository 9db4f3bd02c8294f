// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shapes, errors and gradients of ops on parts of tensors.
#include <trainhook/graph/ops/partition.hpp>

#include <cstdint>

#include <gtest/gtest.h>

#include <trainhook/graph/gradients.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/registry.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

TEST(PartitionOps, APartHasUnknownRows) {
  Graph graph;
  const Output x = placeholder(graph, DType::Float, {4, 3}, "x");
  const Output parts = placeholder(graph, DType::Int32, {-1}, "parts");
  const Output first =
      detail::add_op(*find_op_def("DynamicPartition"), {}, {x, parts}, {{"num_partitions", std::int64_t{2}}});
  EXPECT_EQ(first.node().outputs().size(), 2U);
  EXPECT_EQ(first.shape(), PartialShape({-1, 3}));
  EXPECT_EQ(gradients(first, {x})[0].shape(), x.shape());
  testing::expect_error({"DynamicPartition", "begin"}, [&] {
    detail::add_op(*find_op_def("DynamicPartition"), {}, {x, placeholder(graph, DType::Int32, {5})},
                   {{"num_partitions", std::int64_t{2}}});
  });
}

}  // namespace
}  // namespace trainhook
