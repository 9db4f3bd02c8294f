// SPDX-License-Identifier: Apache-2.0
/// @file
/// Seeds of random nodes, and the nodes around them.
#include <trainhook/model/ops/random.hpp>

#include <cstdint>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

const Node& random_node_of(Graph& graph, const char* name) { return graph.operation(name).node(); }

TEST(RandomOps, SeedsComeFromTheGraphAndCountItsRandomNodes) {
  Graph graph;
  graph.set_random_seed(7);
  random_uniform(graph, {2}, {}, "a");
  random_normal(graph, {2}, {}, "b");
  random_normal(graph, {2}, {.seed = 42}, "c");
  EXPECT_EQ(random_node_of(graph, "a/RandomUniform").attr<std::int64_t>("seed"), 7);
  EXPECT_EQ(random_node_of(graph, "a/RandomUniform").attr<std::int64_t>("seed2"), 0);
  EXPECT_EQ(random_node_of(graph, "b/RandomStandardNormal").attr<std::int64_t>("seed2"), 1);
  EXPECT_EQ(random_node_of(graph, "c/RandomStandardNormal").attr<std::int64_t>("seed2"), 42);
}

TEST(RandomOps, SeedsAreNeverBothZero) {
  Graph graph;
  graph.set_random_seed(0);
  const OpSeeds seeds = get_seed(graph, 0);
  EXPECT_NE(seeds.seed2, 0);
}

TEST(RandomOps, ResultBearsTheNameOfItsScope) {
  Graph graph;
  const Output x = truncated_normal(graph, {2, 3}, {.mean = 1, .stddev = 0.5, .dtype = DType::Double}, "noise");
  EXPECT_EQ(x.name(), "noise:0");
  EXPECT_EQ(x.dtype(), DType::Double);
  EXPECT_EQ(x.shape(), PartialShape({2, 3}));
  EXPECT_EQ(random_node_of(graph, "noise/stddev").attr<Tensor>("value"), Tensor(0.5));
  EXPECT_EQ(random_node_of(graph, "noise/shape").attr<Tensor>("value"), Tensor::of<std::int32_t>({2, 3}));
}

TEST(RandomOps, RefusesBadRangesAndDtypes) {
  Graph graph;
  expect_error({"minval 1", "maxval 1"}, [&] { random_uniform(graph, {2}, {.minval = 1, .maxval = 1}); });
  expect_error({"stddev -1"}, [&] { random_normal(graph, {2}, {.stddev = -1}); });
  expect_error({"int32"}, [&] { random_uniform(graph, {2}, {.dtype = DType::Int32}); });
}

TEST(RandomOps, DropoutOfNothingAddsNoNode) {
  Graph graph;
  const Output x = placeholder(graph, DType::Float, {-1, 3}, "x");
  EXPECT_EQ(dropout(x, 0), x);
  EXPECT_EQ(dropout(x, 0.5).shape(), PartialShape({-1, 3}));
  expect_error({"rate 1", "[0, 1)"}, [&] { dropout(x, 1); });
  expect_error({"dropout", "float32[2]"}, [&] { dropout(x, placeholder(graph, DType::Float, {2})); });
  expect_error({"dropout", "empty"}, [&] { dropout(x, Output()); });
}

}  // namespace
}  // namespace trainhook
