// SPDX-License-Identifier: Apache-2.0
/// @file
/// Initial values and get_variable.
#include <trainhook/model/initializers.hpp>

#include <cmath>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

TEST(GetVariable, PutsTheInitialValueUnderTheNameOfTheVariable) {
  Graph graph;
  const Graph::Scope scope = graph.name_scope("layer");
  const Variable w = get_variable(graph, "w", {2, 3}, {.initializer = zeros_initializer()});
  EXPECT_EQ(w.name(), "layer/w");
  EXPECT_EQ(w.initial_value.name(), "layer/w/Initializer/zeros:0");
  EXPECT_EQ(graph.current_scope(), "layer/");
}

TEST(GetVariable, WaitsForNothingAroundIt) {
  Graph graph;
  const Graph::Scope after = graph.control_dependencies({graph.add({.type = "NoOp"})});
  const Variable w = get_variable(graph, "w", {2});
  EXPECT_TRUE(w.handle.node().control_inputs().empty());
  EXPECT_TRUE(w.initial_value.node().control_inputs().empty());
}

TEST(GetVariable, DefaultsToGlorotForFloatsAndZerosForOthers) {
  Graph graph;
  EXPECT_EQ(get_variable(graph, "w", {2, 3}).initial_value.node().type(), "AddV2");
  EXPECT_EQ(get_variable(graph, "n", {2}, {.dtype = DType::Int64}).initial_value.node().attr<Tensor>("value"),
            Tensor(DType::Int64, {2}));
}

TEST(GetVariable, RefusesANameThatIsTakenAndAnInitializerThatDoesNotFit) {
  Graph graph;
  get_variable(graph, "w", {2});
  expect_error({"variable w", "exists already"}, [&] { get_variable(graph, "w", {2}); });
  const Initializer wrong = [](Graph& g, const Shape&, DType dtype) { return zeros(g, {5}, dtype); };
  expect_error({"variable b", "float32[2]", "float32[5]"},
               [&] { get_variable(graph, "b", {2}, {.initializer = wrong}); });
  expect_error({"float64[1]"},
               [&] { get_variable(graph, "c", {2}, {.initializer = constant_initializer(Tensor::of<double>({1}))}); });
}

TEST(Initializers, GlorotUniformSpansItsLimit) {
  Graph graph;
  get_variable(graph, "w", {5, 5, 3, 8}, {.initializer = glorot_uniform_initializer()});
  const float lowest = graph.operation("w/Initializer/random_uniform/min").node().attr<Tensor>("value").scalar<float>();
  EXPECT_FLOAT_EQ(lowest, static_cast<float>(-std::sqrt(6.0 / (25 * 3 + 25 * 8))));
}

TEST(Initializers, ConstantsHoldTheirValues) {
  Graph graph;
  const Variable a = get_variable(graph, "a", {2}, {.initializer = constant_initializer(0.5)});
  EXPECT_EQ(a.initial_value.node().attr<Tensor>("value"), Tensor::of<float>({0.5F, 0.5F}));
  const Variable b = get_variable(graph, "b", {2}, {.initializer = ones_initializer()});
  EXPECT_EQ(b.initial_value.node().attr<Tensor>("value"), Tensor::of<float>({1, 1}));
}

}  // namespace
}  // namespace trainhook
