// SPDX-License-Identifier: Apache-2.0
/// @file
/// Names, scopes, control dependencies, collections and seeds of a graph.
#include <trainhook/graph/graph.hpp>

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/variable.hpp>

#include "as_defined.hpp"
#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

TEST(Graph, GivesEachNodeAUniqueName) {
  Graph graph;
  EXPECT_EQ(no_op(graph, "a").name(), "a");
  EXPECT_EQ(no_op(graph, "a").name(), "a_1");
  EXPECT_EQ(no_op(graph, "A").name(), "A_2") << "names differ in more than letter case";
  EXPECT_EQ(graph.add({.type = "NoOp"}).name(), "NoOp");
}

TEST(Graph, EndsTheProgramIfItIsDestroyedBeforeItsSession) {
  EXPECT_DEATH(
      {
        Graph graph;
        graph.begin_use();
      },
      "a graph is destroyed before its session");
  Graph graph;
  graph.begin_use();
  graph.end_use();
}

TEST(Graph, PutsTheScopeInFrontAndLeavesItAgain) {
  Graph graph;
  {
    const Graph::Scope outer = graph.name_scope("outer");
    const Graph::Scope inner = graph.name_scope("inner");
    EXPECT_EQ(no_op(graph, "x").name(), "outer/inner/x");
    EXPECT_EQ(graph.current_scope(), "outer/inner/");
  }
  EXPECT_EQ(no_op(graph, "x").name(), "x");
  const Graph::Scope again = graph.name_scope("outer");
  EXPECT_EQ(no_op(graph, "x").name(), "outer_1/x");
}

TEST(Graph, EntersAScopeAgainByItsWholePrefix) {
  Graph graph;
  { const Graph::Scope scope = graph.name_scope("w"); }
  const Graph::Scope elsewhere = graph.name_scope("elsewhere");
  const Graph::Scope scope = graph.name_scope("w/");
  EXPECT_EQ(no_op(graph, "x").name(), "w/x");
}

TEST(Graph, LetsANodeHaveTheNameOfItsScope) {
  Graph graph;
  const Graph::Scope scope = graph.name_scope("Adam");
  EXPECT_EQ(no_op(graph, graph.current_scope()).name(), "Adam");
  expect_error({"already has a node 'Adam'"}, [&] { no_op(graph, graph.current_scope()); });
}

TEST(Graph, AddsControlDependenciesOnceAndLeavesThemAtTopLevel) {
  Graph graph;
  const Operation first = no_op(graph, "first");
  const Graph::Scope after = graph.control_dependencies({first, first});
  const Graph::Scope again = graph.control_dependencies({first});
  EXPECT_EQ(no_op(graph, "second").node().control_inputs().size(), 1U);
  const Graph::Scope top = graph.top_level();
  EXPECT_TRUE(no_op(graph, "third").node().control_inputs().empty());
}

TEST(Graph, FindsOperationsAndOutputsByName) {
  Graph graph;
  const Output x = constant(graph, Tensor(1.0F), "x");
  EXPECT_EQ(graph.output("x:0"), x);
  EXPECT_EQ(graph.output("x"), x);
  EXPECT_FALSE(graph.find_operation("y").has_value());
  expect_error<NotFoundError>({"'y'", "it holds: x"}, [&] { static_cast<void>(graph.operation("y")); });
  expect_error<InvalidArgumentError>({"x", "1 output, no output 1"}, [&] { static_cast<void>(graph.output("x:1")); });
  expect_error({"'x:a'"}, [&] { static_cast<void>(graph.output("x:a")); });
}

TEST(Graph, GivesAnOutputAnotherNameByAnIdentity) {
  Graph graph;
  const Output x = placeholder(graph, DType::Float, {kUnknownDim, 3}, "x");
  const Output y = x.named("y");
  EXPECT_EQ(y.name(), "y:0");
  EXPECT_EQ(y.node().inputs()[0], x);
  EXPECT_EQ(support::nodes_unlike_their_definition(graph), "");
}

TEST(Graph, HandlesOfNothingSaySo) {
  const auto refused = [](const auto& ask) { expect_error<FailedPreconditionError>({"empty", "has_value()"}, ask); };
  refused([] { static_cast<void>(Output().shape()); });
  refused([] { static_cast<void>(Output().dtype()); });
  refused([] { static_cast<void>(Output().name()); });
  refused([] { static_cast<void>(Output().named("y")); });
  refused([] { static_cast<void>(Operation().name()); });
  refused([] { static_cast<void>(Operation().output()); });
  refused([] { static_cast<void>(Variable().name()); });
  refused([] { static_cast<void>(Variable().shape()); });
}

TEST(Graph, RefusesBadNamesForeignInputsAndAdditionsAfterFinalize) {
  Graph graph;
  Graph other;
  const Output foreign = constant(other, Tensor(1.0F), "theirs");
  expect_error({"'a b'"}, [&] { no_op(graph, "a b"); });
  expect_error({"the type of a node", "not UTF-8"}, [&] { graph.add({.type = "\xe4", .name = "a"}); });
  expect_error({"the name of an attribute", "not UTF-8"}, [&] {
    graph.add({.type = "Mine", .attrs = {{"\xe4", true}}});
  });
  expect_error({"'theirs:0'", "another graph"}, [&] { graph.add({.type = "Identity", .inputs = {foreign}}); });
  expect_error({"empty"}, [&] { graph.add({.type = "Identity", .inputs = {Output()}}); });
  graph.finalize();
  expect_error<FailedPreconditionError>({"finalized"}, [&] { no_op(graph); });
}

TEST(Graph, KeepsCollectionsByTypeAndInOrder) {
  Graph graph;
  graph.add_to_collection("numbers", 2);
  graph.add_to_collection("numbers", std::string("three"));
  graph.add_to_collection("numbers", 1);
  EXPECT_EQ(graph.collection<int>("numbers"), (std::vector<int>{2, 1}));
  EXPECT_TRUE(graph.collection<int>("others").empty());
}

TEST(Graph, ChangesItemsInAllCollections) {
  Graph graph;
  graph.add_to_collection("numbers", 2);
  graph.add_to_collection("numbers", std::string("three"));
  graph.add_to_collection("others", 4);
  graph.change_in_collections<int>([](int& number) { number *= 10; });
  EXPECT_EQ(graph.collection<int>("numbers"), std::vector<int>{20});
  EXPECT_EQ(graph.collection<std::string>("numbers"), std::vector<std::string>{"three"});
  EXPECT_EQ(graph.collection<int>("others"), std::vector<int>{40});
}

TEST(Graph, OffersObjectsByTypeAsLongAsTheirOwnersKeepThem) {
  Graph graph;
  auto first = std::make_shared<int>(1);
  const auto second = std::make_shared<int>(2);
  const auto other = std::make_shared<std::string>("three");
  graph.offer(first);
  graph.offer(other);
  graph.offer(second);
  EXPECT_EQ(graph.offered<int>(), (std::vector<std::shared_ptr<int>>{first, second}));
  EXPECT_EQ(graph.offered<std::string>(), std::vector<std::shared_ptr<std::string>>{other});
  EXPECT_TRUE(graph.offered<double>().empty());
  first.reset();
  EXPECT_EQ(graph.offered<int>(), std::vector<std::shared_ptr<int>>{second});
  EXPECT_TRUE(graph.collections().empty());
}

TEST(Graph, CountsTheSeedsOfRandomNodes) {
  Graph graph;
  EXPECT_EQ(graph.random_seed(), 87654321);
  EXPECT_EQ(graph.next_op_seed(), 0);
  EXPECT_EQ(graph.next_op_seed(), 1);
}

}  // namespace
}  // namespace trainhook
