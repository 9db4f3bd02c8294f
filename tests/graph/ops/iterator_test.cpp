// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the two ops of an iterator: their attributes, and what a graph from elsewhere must say of them.
#include <trainhook/graph/ops/iterator.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "as_defined.hpp"
#include "expect_error.hpp"

namespace trainhook {
namespace {

const std::vector<OutputSpec> kComponents{{DType::Float, {kUnknownDim, 2}}, {DType::String, Shape{}}};

TEST(IteratorOps, HaveTheAttributesOfTensorFlow) {
  Graph graph;
  const Operation iterator = detail::iterator(graph, kComponents, "train");
  const Attrs expected{{"container", std::string()},
                       {"output_shapes", std::vector<PartialShape>{{kUnknownDim, 2}, Shape{}}},
                       {"output_types", std::vector{DType::Float, DType::String}},
                       {"shared_name", std::string()}};
  EXPECT_EQ(iterator.node().attrs(), expected);
  const Operation next = detail::iterator_get_next(iterator, kComponents);
  EXPECT_EQ(next.name(), "IteratorGetNext");
  ASSERT_EQ(next.node().outputs().size(), 2U);
  EXPECT_EQ(next.output(0).shape(), (PartialShape{kUnknownDim, 2}));
  EXPECT_EQ(next.output(1).dtype(), DType::String);
  EXPECT_EQ(support::nodes_unlike_their_definition(graph), "");
}

TEST(IteratorOps, NeedAShapeForEachComponent) {
  Graph graph;
  const Operation iterator = detail::iterator(graph, kComponents, "train");
  const auto add = [&](Attrs attrs) {
    graph.add(*support::core_op_def("IteratorGetNext"),
              {.name = "next", .inputs = {Output(&iterator.node(), 0)}, .attrs = std::move(attrs)});
  };
  testing::expect_error({"'next'", "output_shapes"}, [&] { add({{"output_types", std::vector{DType::Float}}}); });
  testing::expect_error({"'next'", "1 output_types and 2 output_shapes"}, [&] {
    add({{"output_types", std::vector{DType::Float}}, {"output_shapes", std::vector<PartialShape>(2)}});
  });
  testing::expect_error({"IteratorV2", "output_types"}, [&] { graph.add(*support::core_op_def("IteratorV2"), {}); });
}

}  // namespace
}  // namespace trainhook
