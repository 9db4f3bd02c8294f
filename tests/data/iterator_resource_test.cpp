// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of iterators in graphs, and of their two ops: their attributes, and what a graph from elsewhere must say of
/// them.
#include <trainhook/data/iterator_resource.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/op_def.hpp>

#include "as_defined.hpp"
#include "expect_error.hpp"

namespace th = trainhook;
using th::Dataset;

namespace {

Dataset batches() {
  return Dataset::from_tensor_slices({th::Tensor(th::DType::Float, {9, 4}), th::Tensor(th::DType::Int64, {9})})
      .batch(3);
}

TEST(MakeIterator, AddsTensorFlowsTwoOps) {
  th::Graph graph;
  const auto [image, label] = th::make_iterator(graph, batches()).get_next<2>();
  ASSERT_EQ(graph.size(), 2U);
  const th::Node& iterator = graph.nodes()[0];
  const th::Node& next = graph.nodes()[1];
  EXPECT_EQ(iterator.type(), "IteratorV2");
  EXPECT_EQ(iterator.name(), "IteratorV2");
  EXPECT_EQ(iterator.attr<std::string>("shared_name"), "");
  EXPECT_EQ(iterator.attr<std::string>("container"), "");
  EXPECT_EQ(next.type(), "IteratorGetNext");
  ASSERT_EQ(next.inputs().size(), 1U);
  EXPECT_EQ(&next.inputs()[0].node(), &iterator);
  for (const th::Node* node : {&iterator, &next}) {
    EXPECT_EQ(node->attr<std::vector<th::DType>>("output_types"), (std::vector{th::DType::Float, th::DType::Int64}));
    EXPECT_EQ(node->attr<std::vector<th::PartialShape>>("output_shapes"),
              (std::vector<th::PartialShape>{{-1, 4}, {-1}}));
  }
  EXPECT_EQ(image.name(), "IteratorGetNext:0");
  EXPECT_EQ(image.dtype(), th::DType::Float);
  EXPECT_EQ(image.shape(), (th::PartialShape{-1, 4}));
  EXPECT_EQ(label.dtype(), th::DType::Int64);
}

TEST(MakeIterator, RegistersTheIteratorWithItsDataset) {
  th::Graph graph;
  const th::GraphIterator first = th::make_iterator(graph, batches(), "train");
  (void)th::make_iterator(graph, Dataset::range(3), "train");
  const auto resources = th::detail::iterators(graph);
  ASSERT_EQ(resources.size(), 2U);
  EXPECT_EQ(resources[0].op, first.op());
  EXPECT_EQ(resources[0].state_name(), "train-state");
  EXPECT_EQ(resources[1].state_name(), "train_1-state");
  EXPECT_EQ(resources[1].dataset.cardinality(), 3);
}

TEST(GraphIterator, RejectsAnotherNumberOfComponents) {
  th::Graph graph;
  const th::GraphIterator iterator = th::make_iterator(graph, batches());
  EXPECT_THROW((void)iterator.get_next<3>(), th::InvalidArgumentError);
  EXPECT_EQ(graph.size(), 1U);
  EXPECT_THROW((void)th::make_iterator(graph, Dataset::from_tensors({})), th::InvalidArgumentError);
}

}  // namespace

namespace trainhook {
namespace {

const std::vector<OutputSpec> kComponents{{DType::Float, {kUnknownDim, 2}}, {DType::String, Shape{}}};

constexpr auto iterator_op_def = [](std::string_view type) {
  return *std::ranges::find(detail::iterator_ops(), type, &OpDef::type);
};

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
  EXPECT_EQ(support::nodes_unlike_their_definition(graph, iterator_op_def), "");
}

TEST(IteratorOps, NeedAShapeForEachComponent) {
  Graph graph;
  const Operation iterator = detail::iterator(graph, kComponents, "train");
  const auto add = [&](Attrs attrs) {
    graph.add(*iterator_op_def("IteratorGetNext"),
              {.name = "next", .inputs = {Output(&iterator.node(), 0)}, .attrs = std::move(attrs)});
  };
  testing::expect_error({"'next'", "output_shapes"}, [&] { add({{"output_types", std::vector{DType::Float}}}); });
  testing::expect_error({"'next'", "1 output_types and 2 output_shapes"}, [&] {
    add({{"output_types", std::vector{DType::Float}}, {"output_shapes", std::vector<PartialShape>(2)}});
  });
  testing::expect_error({"IteratorV2", "output_types"}, [&] { graph.add(*iterator_op_def("IteratorV2"), {}); });
}

}  // namespace
}  // namespace trainhook
