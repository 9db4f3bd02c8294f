// SPDX-License-Identifier: Apache-2.0
/// @file
/// Scaffold: what it makes, shares and refuses.
#include <trainhook/hooks/scaffold.hpp>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <small_engine.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/graph/ops/summary.hpp>
#include <trainhook/monitored/session_manager.hpp>

namespace trainhook {
namespace {

using support::SmallEngine;

Variable variable(Graph& graph, const std::string& name, std::int64_t value, std::string_view collection) {
  return make_variable(name, constant(graph, Tensor(value), name + "/initial"),
                       {.trainable = false, .collections = {std::string(collection)}});
}

template <class E, class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const E& error) { return error.what(); }
  return "nothing was thrown";
}

TEST(Scaffold, M001_HasNothingBeforeItIsFinalized) {
  Graph graph;
  variable(graph, "my_var", 1, graph_keys::kGlobalVariables);
  const Scaffold scaffold;
  EXPECT_FALSE(scaffold.init_op().has_value());
  EXPECT_TRUE(scaffold.init_feed_dict().empty());
  EXPECT_FALSE(scaffold.has_init_fn());
  EXPECT_FALSE(scaffold.ready_op().has_value());
  EXPECT_FALSE(scaffold.ready_for_local_init_op().has_value());
  EXPECT_FALSE(scaffold.local_init_op().has_value());
  EXPECT_FALSE(scaffold.summary_op().has_value());
  EXPECT_EQ(scaffold.saver(), nullptr);
}

TEST(Scaffold, M002_DefaultsInitializeGlobalThenLocalVariables) {
  Graph graph;
  Scaffold scaffold;
  const Variable global = variable(graph, "my_var", 1, graph_keys::kGlobalVariables);
  const Variable local = variable(graph, "my_local_var", 2, graph_keys::kLocalVariables);
  scaffold.finalize(graph);
  EXPECT_TRUE(scaffold.init_op().has_value());
  EXPECT_TRUE(scaffold.local_init_op().has_value());
  EXPECT_NE(scaffold.saver(), nullptr);
  EXPECT_TRUE(scaffold.init_feed_dict().empty());
  EXPECT_FALSE(scaffold.has_init_fn());

  SmallEngine session(graph);  // in place of TensorFlow's two ready ops, the session is asked
  using Names = std::vector<std::string>;
  EXPECT_EQ(report_uninitialized_variables(session), (Names{"my_var", "my_local_var"}));
  EXPECT_EQ(report_uninitialized_variables(session, false), (Names{"my_var"}));
  session.run(scaffold.init_op());
  EXPECT_EQ(report_uninitialized_variables(session, false), Names{});
  EXPECT_EQ(report_uninitialized_variables(session), (Names{"my_local_var"}));
  session.run(scaffold.local_init_op());
  EXPECT_EQ(report_uninitialized_variables(session), Names{});
  EXPECT_EQ(session.run(global.read).scalar<std::int64_t>(), 1);
  EXPECT_EQ(session.run(local.read).scalar<std::int64_t>(), 2);
}

TEST(Scaffold, M003_AGraphWithoutVariablesIsNotAnError) {
  Graph graph;
  constant(graph, Tensor(1.0F));
  Scaffold scaffold;
  scaffold.finalize(graph);
  EXPECT_TRUE(graph.is_finalized());
  ASSERT_NE(scaffold.saver(), nullptr);
  SmallEngine session(graph);
  EXPECT_EQ(scaffold.saver()->save(session, {.save_path = "nowhere/model.ckpt", .global_step = 0}),
            "");  // nothing to save
}

TEST(Scaffold, M004_TwoScaffoldsOfOneGraphShareTheirDefaults) {
  Graph graph;
  const Variable global = variable(graph, "my_var", 1, graph_keys::kGlobalVariables);
  variable(graph, "my_local_var", 2, graph_keys::kLocalVariables);
  summary::scalar("my_summary", global.read);
  const Output ready = constant(graph, Tensor(DType::String, Shape{0}), "ready");
  graph.add_to_collection(graph_keys::kReadyOp, ready);
  graph.add_to_collection(graph_keys::kReadyForLocalInitOp, ready);
  Scaffold first;
  first.finalize(graph);
  Scaffold second;
  second.finalize(graph);
  EXPECT_EQ(first.init_op(), second.init_op());
  EXPECT_EQ(first.local_init_op(), second.local_init_op());
  EXPECT_EQ(first.ready_op(), second.ready_op());
  EXPECT_EQ(first.ready_op(), ready);
  EXPECT_EQ(first.ready_for_local_init_op(), second.ready_for_local_init_op());
  EXPECT_EQ(first.ready_for_local_init_op(), ready);
  EXPECT_EQ(first.summary_op(), second.summary_op());
  EXPECT_TRUE(first.summary_op().has_value());
  EXPECT_EQ(first.saver(), second.saver());
  const Operation before = first.init_op();
  first.finalize(graph);  // harmless
  EXPECT_EQ(first.init_op(), before);
}

/// A scaffold's options with every piece given.
ScaffoldOptions all_pieces(Graph& graph, int& init_calls) {
  ScaffoldOptions options;
  options.init_op = no_op(graph, "my_init");
  options.init_feed_dict = {{placeholder(graph, DType::Float, Shape{}, "fed"), 1.0F}};
  options.init_fn = [&init_calls](const Scaffold&, SessionRef) { ++init_calls; };
  options.local_init_op = no_op(graph, "my_local_init");
  options.local_init_feed_dict = {{placeholder(graph, DType::Float, Shape{}, "local_fed"), 2.0F}};
  options.ready_op = constant(graph, Tensor(DType::String, Shape{0}), "my_ready");
  options.ready_for_local_init_op = constant(graph, Tensor(DType::String, Shape{0}), "my_ready_for_local");
  options.summary_op = constant(graph, Tensor(""), "my_summary");
  options.saver = std::make_shared<Saver>(SaverOptions{.allow_empty = true});
  return options;
}

void expect_pieces(const Scaffold& scaffold, const ScaffoldOptions& pieces, Graph& graph, int& init_calls) {
  EXPECT_EQ(scaffold.init_op(), pieces.init_op);
  ASSERT_EQ(scaffold.init_feed_dict().size(), 1U);
  EXPECT_EQ(scaffold.init_feed_dict()[0].key, pieces.init_feed_dict[0].key);
  EXPECT_EQ(scaffold.local_init_op(), pieces.local_init_op);
  ASSERT_EQ(scaffold.local_init_feed_dict().size(), 1U);
  EXPECT_EQ(scaffold.local_init_feed_dict()[0].key, pieces.local_init_feed_dict[0].key);
  EXPECT_EQ(scaffold.ready_op(), pieces.ready_op);
  EXPECT_EQ(scaffold.ready_for_local_init_op(), pieces.ready_for_local_init_op);
  EXPECT_EQ(scaffold.summary_op(), pieces.summary_op);
  EXPECT_EQ(scaffold.saver(), pieces.saver);
  SmallEngine session(graph);
  const int before = init_calls;
  scaffold.init_fn(session);
  EXPECT_EQ(init_calls, before + 1);
}

TEST(Scaffold, M006_KeepsThePiecesItWasGiven) {
  Graph graph;
  int init_calls = 0;
  variable(graph, "my_var", 1, graph_keys::kGlobalVariables);
  const ScaffoldOptions pieces = all_pieces(graph, init_calls);
  Scaffold scaffold(pieces);
  scaffold.finalize(graph);
  expect_pieces(scaffold, pieces, graph, init_calls);
}

TEST(Scaffold, M007_FinalizesTheGraph) {
  Graph graph;
  Scaffold scaffold;
  constant(graph, Tensor(1.0F));
  scaffold.finalize(graph);
  const std::string message = message_of<FailedPreconditionError>([&] { constant(graph, Tensor(1.0F)); });
  EXPECT_TRUE(message.starts_with("Graph is finalized and cannot be modified")) << message;
}

TEST(Scaffold, M008_WhatIsGivenWinsOverACopiedScaffold) {
  Graph graph;
  int init_calls = 0;
  ScaffoldOptions pieces = all_pieces(graph, init_calls);
  pieces.copy_from_scaffold = std::make_shared<Scaffold>();
  Scaffold scaffold(pieces);
  scaffold.finalize(graph);
  expect_pieces(scaffold, pieces, graph, init_calls);
}

TEST(Scaffold, WhatIsNotGivenComesFromTheCopiedScaffoldAndTheInitFunctionSeesTheNewOne) {
  Graph graph;
  const Scaffold* seen = nullptr;
  int init_calls = 0;
  ScaffoldOptions pieces = all_pieces(graph, init_calls);
  pieces.init_fn = [&](const Scaffold& scaffold, SessionRef) {
    ++init_calls;
    seen = &scaffold;
  };
  Scaffold scaffold({.copy_from_scaffold = std::make_shared<Scaffold>(pieces)});
  scaffold.finalize(graph);
  expect_pieces(scaffold, pieces, graph, init_calls);
  EXPECT_EQ(seen, &scaffold);
}

TEST(Scaffold, M010_OnlyAScaffoldCanBeCopied) {
  using Source = decltype(ScaffoldOptions::copy_from_scaffold);
  static_assert(std::is_assignable_v<Source&, std::shared_ptr<Scaffold>>);
  static_assert(!std::is_assignable_v<Source&, int>);
  static_assert(!std::is_assignable_v<Source&, std::shared_ptr<Saver>>);
}

TEST(Scaffold, SeveralPiecesAreAnErrorIfOneIsWanted) {
  for (const std::string_view key : {graph_keys::kInitOp, graph_keys::kLocalInitOp}) {
    Graph graph;
    graph.add_to_collection(key, no_op(graph));
    graph.add_to_collection(key, no_op(graph));
    Scaffold scaffold;
    EXPECT_EQ(message_of<FailedPreconditionError>([&] { scaffold.finalize(graph); }),
              fmt::format("More than one item in the collection '{}'; give the scaffold the one to use", key));
  }
  Graph graph;
  for (int i = 0; i < 2; ++i) graph.add_to_collection(graph_keys::kSavers, std::make_shared<Saver>());
  Scaffold scaffold;
  EXPECT_THROW(scaffold.finalize(graph), FailedPreconditionError);
}

TEST(Scaffold, APieceOfAnotherGraphIsNamed) {
  Graph graph;
  Graph other;
  Scaffold scaffold({.init_op = no_op(other, "foreign")});
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { scaffold.finalize(graph); }),
            "Scaffold: init_op is 'foreign', which belongs to another graph; make it in the session's own");
  Scaffold with_ready({.ready_op = constant(other, Tensor(""), "probe")});
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { with_ready.finalize(graph); }),
            "Scaffold: ready_op is 'probe', which belongs to another graph; make it in the session's own");
}

}  // namespace
}  // namespace trainhook
