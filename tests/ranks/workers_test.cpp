// SPDX-License-Identifier: Apache-2.0
/// @file
/// A chief and its workers, as programs start them.
#include <trainhook/ranks/workers.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <small_engine.hpp>
#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using ::testing::StrEq;
using ::testing::ThrowsMessage;

/// Counts its runs, with state.
class CountingHook final : public SessionRunHook {
 public:
  void after_run(SessionRunContext& /*context*/, const SessionRunValues& /*values*/) override { ++runs; }
  StateValues save_state() override {
    StateValues state;
    state.set("runs", Tensor(runs));
    return state;
  }
  void begin(Graph& /*graph*/) override { writes = services().peers().of(*this).is_chief(); }
  std::int64_t runs = 0;
  bool writes = false;
};

class WorkersTest : public ::testing::Test {
 protected:
  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  std::shared_ptr<LocalMaster> master = std::make_shared<LocalMaster>(clock);
};

TEST_F(WorkersTest, WorkersTrainInTheChiefsSessionAndSaveNothing) {
  Graph graph;
  const Operation train = increment(create_global_step(graph)).operation();
  const auto options = [&](bool is_chief, HookList hooks) {
    MonitoredTrainingSessionOptions all{.peers = is_chief ? ranks::chief(master) : ranks::worker(master),
                                        .checkpoint_dir = "run",
                                        .hooks = std::move(hooks)};
    all.chief_only_hooks = {StopAtStepHook({.last_step = 1'000})};
    all.file_system = &disk;
    all.clock = &clock;
    return all;
  };
  auto chief = monitored_training_session<support::SmallEngine>(graph, options(true, {}));
  const auto counted = std::make_shared<CountingHook>();
  std::thread worker([&] {
    auto session = monitored_training_session<support::SmallEngine>(graph, options(false, {counted}));
    for (int i = 0; i < 20; ++i) session.run(train);
    session.close();
  });
  for (int i = 0; i < 30; ++i) chief.run(train);
  worker.join();
  EXPECT_EQ(counted->runs, 20);
  EXPECT_TRUE(counted->writes);       // a worker's hooks do what those of a process alone do
  EXPECT_TRUE(graph.is_finalized());  // the worker has left the chief's graph alone
  chief.close();
  EXPECT_EQ(checkpoints_on_disk(disk, "run", "model.ckpt"),
            (std::vector<std::string>{"run/model.ckpt-0", "run/model.ckpt-50"}));
  const BundleReader saved("run/model.ckpt-50", {.file_system = &disk});
  EXPECT_EQ(saved.get_tensor("global_step").scalar<std::int64_t>(), 50);
  EXPECT_FALSE(saved.has_tensor("_trainhook/hooks/CountingHook/runs"));
}

TEST_F(WorkersTest, AWorkerWithoutAChiefInItsProcessIsUnimplemented) {
  Graph graph;
  EXPECT_THROW(
      static_cast<void>(monitored_training_session<support::SmallEngine>(graph, {.peers = ranks::worker(nullptr)})),
      UnimplementedError);
  LoopSession loop;
  EXPECT_THROW(static_cast<void>(monitored_training_session(loop, {.peers = ranks::worker(master)})),
               UnimplementedError);
  EXPECT_THROW(static_cast<void>(monitored_training_session(loop, {.peers = ranks::chief(master)})),
               UnimplementedError);
}

TEST_F(WorkersTest, EachMistakeHasItsMessage) {
  const auto no_master =
      ThrowsMessage<InvalidArgumentError>(StrEq("the master is null; the chief and its workers need one LocalMaster"));
  EXPECT_THAT([] { (void)ranks::chief(nullptr); }, no_master);
  EXPECT_THAT([] { (void)ranks::publish(nullptr, nullptr); }, no_master);
  EXPECT_THAT([&] { (void)ranks::publish(master, nullptr); },
              ThrowsMessage<InvalidArgumentError>(
                  StrEq("MonitoredSession: session_creator is null; a ChiefSessionCreator is the usual one")));
  LoopSession loop;
  EXPECT_THAT([&] { (void)monitored_training_session(loop, {.peers = ranks::chief(master)}); },
              ThrowsMessage<UnimplementedError>(StrEq(
                  "monitored_training_session: chief and workers cannot share a LoopSession, which one thread runs")));
}

}  // namespace
}  // namespace trainhook
