// SPDX-License-Identifier: Apache-2.0
/// @file
/// ChiefSessionCreator: from a scaffold to a session that is ready, again and again.
#include <trainhook/monitored/chief_session_creator.hpp>

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <small_engine.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/hooks/scaffold.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using support::SmallEngine;

struct Model {
  Graph graph;
  Variable v = make_variable("v", constant(graph, Tensor(1.0F), "v/initial"));
  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
};

TEST(ChiefSessionCreator, InitializesGlobalThenLocalVariablesInTheDocumentedOrder) {
  Model model;
  const Variable w =
      make_variable("w", model.v.read, {.trainable = false, .collections = {std::string(graph_keys::kLocalVariables)}});
  const Operation changed = assign(model.v, constant(model.graph, Tensor(9.0F), "nine")).operation();
  const auto scaffold = std::make_shared<Scaffold>(
      ScaffoldOptions{.init_fn = [&](const Scaffold&, SessionRef session) { session.run(changed); }});
  const auto creator = chief_session_creator<SmallEngine>(
      model.graph, {.scaffold = scaffold, .file_system = &model.disk, .clock = &model.clock});
  EXPECT_FALSE(model.graph.is_finalized());
  for (int i = 0; i < 2; ++i) {  // a second time after a loss
    const OwnedSession owned = creator->create_session();
    EXPECT_TRUE(model.graph.is_finalized());
    EXPECT_EQ(SessionRef(owned.session).run(model.v.read).scalar<float>(), 9);  // init_op, then init_fn
    EXPECT_EQ(SessionRef(owned.session).run(w.read).scalar<float>(), 9);        // then local_init_op
  }
  EXPECT_EQ(creator->report().prefix, "");
  EXPECT_FALSE(creator->has_checkpoint());
}

TEST(ChiefSessionCreator, ACheckpointGoesBeforeAnyInitialization) {
  Model model;
  {
    SmallEngine session(model.graph);
    session.run(model.v.initializer);
    Saver({.file_system = &model.disk, .clock = &model.clock})
        .save(session, {.save_path = "run/model.ckpt", .global_step = 3});
  }
  int calls = 0;
  const auto scaffold =
      std::make_shared<Scaffold>(ScaffoldOptions{.init_fn = [&](const Scaffold&, SessionRef) { ++calls; }});
  const auto creator = chief_session_creator<SmallEngine>(
      model.graph, {.scaffold = scaffold, .checkpoint_dir = "run", .file_system = &model.disk, .clock = &model.clock});
  const OwnedSession owned = creator->create_session();
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(creator->report().prefix, "run/model.ckpt-3");
  EXPECT_TRUE(creator->has_checkpoint());
}

TEST(ChiefSessionCreator, NamesAVariableThatNothingGivesAValue) {
  Model model;
  const auto scaffold = std::make_shared<Scaffold>(ScaffoldOptions{.init_op = no_op(model.graph)});
  const auto creator = chief_session_creator<SmallEngine>(
      model.graph, {.scaffold = scaffold, .file_system = &model.disk, .clock = &model.clock});
  try {
    (void)creator->create_session();
    FAIL();
  } catch (const FailedPreconditionError& error) {
    EXPECT_STREQ(error.what(),
                 "Init operations did not make model ready. Variables not initialized: v; give them initial values or "
                 "a checkpoint");
  }
}

TEST(ChiefSessionCreator, NeedsAWayToMakeSessions) {
  Graph graph;
  EXPECT_THROW(ChiefSessionCreator(graph, {}), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
