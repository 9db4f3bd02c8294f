// SPDX-License-Identifier: Apache-2.0
/// @file
/// The nodes and collections that a variable brings.
#include <trainhook/graph/variable.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

TEST(Variable, IsThreeNodesNamedAfterIt) {
  Graph graph;
  const Variable w = make_variable("w", zeros(graph, {2, 3}));
  EXPECT_EQ(w.handle.type(), "VariableV2");
  EXPECT_EQ(w.initializer.name(), "w/Assign");
  EXPECT_EQ(w.initializer.node().inputs()[0], w.ref());
  EXPECT_EQ(w.read.name(), "w/read:0");
  EXPECT_EQ(w.shape(), PartialShape({2, 3}));
  const Output value = w;
  EXPECT_EQ(value, w.read);
}

TEST(Variable, IsInTheCollectionsThatItsOptionsName) {
  Graph graph;
  const Variable w = make_variable("w", zeros(graph, {2}));
  const Variable fixed = make_variable("fixed", zeros(graph, {2}), {.trainable = false});
  const Variable local = make_variable("local", zeros(graph, {2}),
                                       {.trainable = false, .collections = {std::string(graph_keys::kLocalVariables)}});
  EXPECT_EQ(global_variables(graph), (std::vector<Variable>{w, fixed}));
  EXPECT_EQ(trainable_variables(graph), (std::vector<Variable>{w}));
  EXPECT_EQ(local_variables(graph), (std::vector<Variable>{local}));
}

TEST(Variable, KeepsItsInitialValueByItsName) {
  Graph graph;
  keep_initial(graph, "rate");
  EXPECT_EQ(graph.collection<std::string>(detail::kKeptInitial), std::vector<std::string>{"rate"});
}

TEST(Variable, NeedsAKnownShape) {
  Graph graph;
  testing::expect_error({"variable w", "[?,3]"}, [&] {
    make_variable("w", placeholder(graph, DType::Float, {-1, 3}));
  });
  testing::expect_error({"variable w", "empty"}, [] { make_variable("w", Output()); });
}

}  // namespace
}  // namespace trainhook
