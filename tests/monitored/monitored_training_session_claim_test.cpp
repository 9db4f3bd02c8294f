// SPDX-License-Identifier: Apache-2.0
/// @file
/// Two sessions want one directory: a claim that was lost is not taken back, and one that is ending says so.
#include <trainhook/monitored/monitored_training_session.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/lock_lease.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/hooks/best_checkpoint_hook.hpp>
#include <trainhook/hooks/checkpoint_input_pipeline_hook.hpp>
#include <trainhook/hooks/evaluation_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

/// A host with its program: a loop that counts.
class Host {
 public:
  Host(FileSystem& disk, Clock& clock, const HookList& hooks = {})
      : session(monitored_training_session(loop_, {.checkpoint_dir = "run",
                                                   .save_checkpoint_steps = 10,
                                                   .save_summaries_steps = 0,
                                                   .hooks = hooks,
                                                   .file_system = &disk,
                                                   .clock = &clock})) {}

  void train(int steps) {
    for (int i = 0; i < steps; ++i) session.run([] {});
  }

 private:
  LoopSession loop_;

 public:
  MonitoredSession<LoopSession> session;
};

class ClaimTest : public ::testing::Test {
 protected:
  [[nodiscard]] bool is_ending(const std::string& directory) {
    const std::optional<detail::LockHolder> holder = detail::read_holder(disk, directory + "/.checkpoint_lock");
    EXPECT_TRUE(holder) << directory << " is not held";
    return holder && holder->is_ending;
  }

  testing::LogLines log;
  testing::ManualClock clock;
  testing::MemoryFileSystem disk;
};

TEST_F(ClaimTest, AFrozenRunDoesNotSaveOverThatOfAnotherHost) {
  for (const bool has_locks : {true, false}) {
    testing::FaultyFileSystem system(disk);
    if (!has_locks) system.fail_from(testing::FileOperation::LockFile, 1, ErrorCode::Unimplemented);
    Host frozen(system, clock);
    frozen.train(20);
    disk.remove_file(has_locks ? "run/.checkpoint_lock" : "run/.checkpoint_lease");
    {
      Host other(system, clock);
      other.train(40);
      other.session.close();
    }
    if (has_locks) disk.remove_file("run/.checkpoint_lock");
    EXPECT_EQ(latest_checkpoint(disk, "run"), "run/model.ckpt-60");
    const std::string state = disk.contents("run/checkpoint");
    frozen.train(9);
    try {
      frozen.train(1);
      FAIL() << "it has saved";
    } catch (const FailedPreconditionError& error) {
      EXPECT_NE(std::string(error.what()).find("another session has trained there to step 60"), std::string::npos)
          << error.what();
    }
    EXPECT_THROW(frozen.session.close(), FailedPreconditionError);
    EXPECT_EQ(disk.contents("run/checkpoint"), state);
    EXPECT_EQ(checkpoints_on_disk(disk, "run").back(), "run/model.ckpt-60");
    for (const std::string& file : disk.files()) disk.remove_file(file);
  }
  EXPECT_EQ(log.count("recreated"), 0U);
}

TEST_F(ClaimTest, EveryDirectorySaysThatItIsGivenUpBeforeTheFirstHookEnds) {
  struct Look final : SessionRunHook {
    std::function<void()> look;
    HookPhase its_phase = HookPhase::Check;
    [[nodiscard]] HookPhase phase() const noexcept override { return its_phase; }
    void end(SessionRef) override { look(); }
    void abort(const std::exception_ptr&) noexcept override { look(); }
  };
  for (const bool fails : {false, true}) {
    const auto first = std::make_shared<Look>();
    if (fails) first->its_phase = HookPhase::Report;  // the last one is aborted first
    int seen = 0;
    first->look = [&] {
      ++seen;
      EXPECT_TRUE(is_ending("run"));
      EXPECT_TRUE(is_ending("run/best"));
    };
    Host host(disk, clock,
              {first,
               EvaluationHook(
                   [] {
                     return Metrics{{"loss", 1}};
                   },
                   {.every_n_steps = 10}),
               BestCheckpointHook({.metric = "eval/loss"})});
    host.train(1);
    EXPECT_FALSE(is_ending("run"));
    EXPECT_FALSE(is_ending("run/best"));
    if (fails) {
      EXPECT_THROW(run_until_stop(host.session, [] { throw InternalError("no"); }), InternalError);
    } else {
      host.session.close();
    }
    EXPECT_EQ(seen, 1);
  }
}

TEST_F(ClaimTest, ASessionWhoseStopWasRequestedSaysThatItIsEnding) {
  Host host(disk, clock, {StopAtStepHook({.last_step = 2})});
  host.train(1);
  EXPECT_FALSE(is_ending("run"));
  host.train(1);
  EXPECT_TRUE(host.session.should_stop());
  EXPECT_TRUE(is_ending("run"));
  clock.auto_advance(true);
  EXPECT_THROW(Host(disk, clock), FailedPreconditionError);
  EXPECT_EQ(log.count("I Waits for process"), 1U);
  host.session.close();
  EXPECT_NO_THROW(Host(disk, clock));
}

}  // namespace
}  // namespace trainhook
