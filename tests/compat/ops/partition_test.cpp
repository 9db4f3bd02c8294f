// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shapes, errors and gradients of ops on parts of tensors.
#include <trainhook/compat/ops.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/gradients.hpp>

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

TEST(PartitionOps, TooManyPartsAreRefusedBeforeThereIsOne) {
  Graph graph;
  const Output x = placeholder(graph, DType::Float, PartialShape(), "x");
  const Output parts = placeholder(graph, DType::Int32, PartialShape(), "parts");
  for (const std::int64_t count : {std::int64_t{-1}, std::int64_t{65'537}, std::int64_t{1} << 40, INT64_MAX}) {
    const auto refused = [&](std::string_view type, const std::vector<Output>& inputs, std::string_view attr) {
      testing::expect_error({type, count < 0 ? "-1" : fmt::format("has {} inputs or outputs, not 0 to 65536", count)},
                            [&] {
                              detail::add_op(*find_op_def(type), {}, inputs, {{std::string(attr), count}});
                            });
    };
    refused("DynamicPartition", {x, parts}, "num_partitions");
    refused("Split", {parts, x}, "num_split");
    refused("SplitV", {x, parts, parts}, "num_split");
    refused("Unpack", {x}, "num");
  }
}

}  // namespace
}  // namespace trainhook
