// SPDX-License-Identifier: Apache-2.0
/// @file
/// WatchdogHook: what it takes for a hang, what it says of it, and how it ends the process. A run that hangs is a loop
/// in which only the clock moves.
#include <trainhook/watch/watchdog_hook.hpp>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_listener.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using ::testing::ExitedWithCode;

/// A loop of three steps on a clock set by hand.
struct Job {
  /// Nothing moves but the clock, second by second.
  [[noreturn]] void hang() {
    for (;;) pass(1s);
  }
  /// So much time passes, and whoever waits for it sees it.
  void pass(Duration time) {
    while (clock.waiters() == 0) std::this_thread::yield();
    clock.advance(time);
    for (int i = 0; i < 100; ++i) std::this_thread::yield();
  }

  void train(WatchdogHook dog, HookList hooks = {}) {
    LoopSession loop;
    float weight = 0;
    loop.variable("weight", weight);
    hooks.emplace_back(std::move(dog));
    auto session = monitored_training_session(loop, {.checkpoint_dir = "run",
                                                     .log_step_count_steps = 0,
                                                     .hooks = std::move(hooks),
                                                     .file_system = &disk,
                                                     .clock = &clock});
    for (int run = 0; run < 3; ++run) {
      session.run([&] {
        if (run == hangs_in_run) hang();
        pass(takes);
      });
    }
    if (hangs_between_runs) hang();
    session.close();
  }

  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  Duration takes = 1s;
  int hangs_in_run = -1;
  bool hangs_between_runs = false;
};

TEST(WatchdogHook, RefusesWhatCannotBe) {
  EXPECT_THROW(WatchdogHook({.step_timeout = 0s}), InvalidArgumentError);
  EXPECT_THROW(WatchdogHook({.first_step_timeout = -1s}), InvalidArgumentError);
  EXPECT_THROW(WatchdogHook({.save_timeout = 0s}), InvalidArgumentError);
  EXPECT_NO_THROW(WatchdogHook({.step_timeout = std::nullopt}));
}

TEST(WatchdogHook, LetsARunThatMovesAlone) {
  const testing::LogLines quiet;
  Job job;
  job.takes = 15s;
  job.train(WatchdogHook({.step_timeout = 20s, .on_timeout = [](const std::string& what) { ADD_FAILURE() << what; }}));
  EXPECT_TRUE(job.disk.exists("run/model.ckpt-3.index"));
}

TEST(WatchdogHook, TimeInWhichTheProcessDidNotRunDoesNotCount) {
  const testing::LogLines quiet;
  Job job;
  job.takes = 10h;  // in which the thread woke once: a laptop slept
  job.train(WatchdogHook({.step_timeout = 20s, .on_timeout = [](const std::string& what) { ADD_FAILURE() << what; }}));
}

using WatchdogDeathTest = ::testing::Test;

TEST(WatchdogDeathTest, SaysThatTheStepHangsAndEndsTheProcess) {
  EXPECT_EXIT(
      {
        Job job;
        job.hangs_in_run = 2;
        job.train(WatchdogHook({.step_timeout = 20s, .exit_status = 7}));
      },
      ExitedWithCode(7), "WatchdogHook: nothing has moved for 20 s: the step, after step 2. The process ends.");
}

TEST(WatchdogDeathTest, TheFirstStepMayTakeLonger) {
  EXPECT_EXIT(
      {
        Job job;
        job.hangs_in_run = 0;
        job.train(WatchdogHook({.step_timeout = 20s, .first_step_timeout = 1min, .exit_status = 7}));
      },
      ExitedWithCode(7), "WatchdogHook: nothing has moved for 1 min 00 s: the step. The process ends.");
}

TEST(WatchdogDeathTest, NamesTheHookThatHangs) {
  EXPECT_EXIT(
      {
        Job job;
        HookList hooks;
        hooks.emplace_back(LambdaHook({.after_run = [&job](SessionRunContext& context, const SessionRunValues&) {
          if (context.global_step() == 2) job.hang();
        }}));
        job.train(WatchdogHook({.step_timeout = 20s, .exit_status = 7}), std::move(hooks));
      },
      ExitedWithCode(7), "nothing has moved for 20 s: after_run of LambdaHook, after step 1.");
}

TEST(WatchdogDeathTest, ASaveHasATimeOfItsOwn) {
  struct Hanging final : CheckpointSaverListener {
    explicit Hanging(Job& owner) : job(&owner) {}
    void before_save(SessionRef /*session*/, std::int64_t step) override {
      if (step == 2) job->hang();
    }
    Job* job;
  };
  EXPECT_EXIT(
      {
        Job job;
        HookList hooks;
        hooks.emplace_back(CheckpointSaverHook({.save_steps = 2, .listeners = {std::make_shared<Hanging>(job)}}));
        job.train(WatchdogHook({.step_timeout = 20s, .save_timeout = 40s, .exit_status = 7}), std::move(hooks));
      },
      ExitedWithCode(7), "nothing has moved for 40 s: after_run of CheckpointSaverHook, after step 1.");
}

TEST(WatchdogDeathTest, WatchesTheProgramBetweenStepsAndCallsItsFunction) {
  EXPECT_EXIT(
      {
        Job job;
        job.hangs_between_runs = true;
        job.train(WatchdogHook(
            {.step_timeout = 20s,
             .on_timeout = [](const std::string& what) { std::fprintf(stderr, "told: %s\n", what.c_str()); },
             .exit_status = 7}));
      },
      ExitedWithCode(7), "told: the program, between two runs, after step 3");
}

TEST(WatchdogDeathTest, AbortsByDefault) {
  EXPECT_DEATH(
      {
        Job job;
        job.hangs_in_run = 2;
        job.train(WatchdogHook({.step_timeout = 20s, .on_timeout = [](const std::string&) { throw 1; }}));
      },
      "on_timeout threw");
}

}  // namespace
}  // namespace trainhook
