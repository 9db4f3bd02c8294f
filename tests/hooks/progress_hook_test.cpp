// SPDX-License-Identifier: Apache-2.0
/// @file
/// ProgressHook: what it shows, how often, and how it ends.
#include <trainhook/hooks/progress_hook.hpp>

#include <chrono>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "training_double.hpp"

namespace trainhook {
namespace {

using namespace std::chrono_literals;

struct Shown : support::Process {
  std::string screen;
  float loss = 0.5F;
  Output loss_output = script.value("loss", [this] { return Tensor(loss); });

  std::shared_ptr<ProgressHook> add_progress(ProgressHook::Options options) {
    options.sink = [this](std::string_view text) { screen += text; };
    auto hook = std::make_shared<ProgressHook>(std::move(options));
    add(hook);
    return hook;
  }
  void run_timed(int times, double seconds) {
    for (int i = 0; i < times; ++i) {
      run();
      advance_clock(seconds);
    }
  }
  std::string take() { return std::exchange(screen, {}); }
};

TEST(ProgressHook, RefusesBadOptions) {
  EXPECT_THROW(ProgressHook({.every_secs = 0s}), InvalidArgumentError);
  EXPECT_THROW(ProgressHook({.last_step = -1}), InvalidArgumentError);
  EXPECT_THROW(ProgressHook({.width = 0}), InvalidArgumentError);
  EXPECT_THROW(ProgressHook({.file = stdout, .sink = [](std::string_view) {}}), InvalidArgumentError);
  EXPECT_NO_THROW(ProgressHook());
}

TEST(ProgressHook, ShowsStepRateTimeLeftAndTensors) {
  Shown training;
  training.add_progress({.last_step = 100, .tensors = {{"loss", training.loss_output}}, .every_secs = 1s});
  training.start();
  training.run_timed(21, 0.1);
  EXPECT_EQ(training.take(),
            "step 1/100 (1 %), loss = 0.5\n"
            "step 11/100 (11 %), 10 steps/s, 8.9 s left, loss = 0.5\n"
            "step 21/100 (21 %), 10 steps/s, 7.9 s left, loss = 0.5\n");
  training.run_timed(79, 0.1);
  training.take();
  training.end();
  EXPECT_EQ(training.take(), "step 100/100 (100 %), 10 steps/s in 10 s, loss = 0.5: finished\n");
}

TEST(ProgressHook, ShowsPublishedMetrics) {
  Shown training;
  training.add_progress({.metrics = {"eval/loss", "never"}, .every_secs = 1s});
  training.start();
  training.run_timed(1, 1);
  training.services.publish("eval/loss", {.step = 1, .value = 0.25});
  training.run_timed(1, 1);
  EXPECT_EQ(training.take(), "step 1\nstep 2, 1.00 steps/s, eval/loss = 0.25\n");
}

TEST(ProgressHook, WithoutALastStepShowsTheStepAlone) {
  Shown training;
  training.add_progress({.every_secs = 1s});
  training.start();
  training.run_timed(3, 1);
  EXPECT_EQ(training.take(), "step 1\nstep 2, 1.00 steps/s\nstep 3, 1.00 steps/s\n");
}

TEST(ProgressHook, OnATerminalWritesOneLine) {
  Shown training;
  training.add_progress({.last_step = 2, .on_terminal = true});
  training.start();
  training.run_timed(2, 0.2);
  training.end();
  EXPECT_EQ(training.take(),
            "step 1/2 (50 %)\x1b[K\r"
            "step 2/2 (100 %), 5.00 steps/s in 0.4 s: finished\x1b[K\n");
}

TEST(ProgressHook, FetchesTensorsOnlyWithTheRunsThatAreShown) {
  Shown training;
  int evaluations = 0;
  training.script.value("counted", [&] { return Tensor(static_cast<float>(++evaluations)); });
  training.add_progress({.tensors = "counted", .every_secs = 1s});
  training.start();
  training.run_timed(20, 0.1);
  EXPECT_EQ(evaluations, 2);
}

TEST(ProgressHook, TheLastLineShowsTensorsOfTheLastStepOrNone) {
  for (const bool to_the_end : {true, false}) {
    Shown training;
    training.add_progress({.last_step = 10, .tensors = {{"loss", training.loss_output}}, .every_secs = 100s});
    training.start();
    training.run_timed(1, 1);
    training.loss = 0.25F;
    training.run_timed(to_the_end ? 9 : 4, 1);
    training.end();
    EXPECT_EQ(training.take(),
              to_the_end
                  ? "step 1/10 (10 %), loss = 0.5\nstep 10/10 (100 %), 1.00 steps/s in 10 s, loss = 0.25: finished\n"
                  : "step 1/10 (10 %), loss = 0.5\nstep 5/10 (50 %), 1.00 steps/s in 5.0 s: ended\n");
  }
}

TEST(ProgressHook, SaysWhyTheRunEnded) {
  const auto ending = [](auto&& finish) {
    Shown training;
    const auto hook = training.add_progress({.last_step = 10, .every_secs = 100s, .on_terminal = true});
    training.start();
    training.run_timed(2, 1);
    training.take();
    finish(training, *hook);
    return training.take();
  };
  EXPECT_EQ(ending([](Shown& training, ProgressHook&) { training.end(); }),
            "step 2/10 (20 %), 1.00 steps/s in 2.0 s: ended\x1b[K\n");
  EXPECT_EQ(ending([](Shown& training, ProgressHook&) {
              training.script.before_each_run = [] { throw OutOfRangeError("End of sequence"); };
              EXPECT_THROW(training.run(), OutOfRangeError);
              training.script.before_each_run = nullptr;
              training.end();
            }),
            "step 2/10 (20 %), 1.00 steps/s in 2.0 s: the input has ended\x1b[K\n");
  EXPECT_EQ(ending([](Shown&, ProgressHook& hook) { hook.abort(std::make_exception_ptr(DataLossError("bad file"))); }),
            "step 2/10 (20 %), 1.00 steps/s in 2.0 s: failed\x1b[K\n");
  EXPECT_EQ(ending([](Shown&, ProgressHook& hook) { hook.abort(nullptr); }),
            "step 2/10 (20 %), 1.00 steps/s in 2.0 s: interrupted\x1b[K\n");
}

TEST(ProgressHook, SaysNothingOfAStopRequestAfterWhichTrainingWentOn) {
  struct Stopper final : SessionRunHook {
    SessionRunArgs before_run(SessionRunContext& context) override {
      if (context.global_step() == 0) context.request_stop();
      return {};
    }
  };
  Shown training;
  training.add(Stopper());
  training.add_progress({.every_secs = 1s});
  training.start();
  training.run();
  training.create();  // as after a recovery that drops the request
  training.run();
  training.take();
  training.end();
  EXPECT_EQ(training.take(), "step 2 in 0.0 s: ended\n");
}

TEST(ProgressHook, SaysThatAStopWasRequested) {
  struct Stopper final : SessionRunHook {
    SessionRunArgs before_run(SessionRunContext& context) override {
      context.request_stop();
      return {};
    }
  };
  Shown training;
  training.add(Stopper());
  training.add_progress({.every_secs = 1s});
  training.start();
  training.run();
  training.take();
  training.end();
  EXPECT_EQ(training.take(), "step 1 in 0.0 s: a stop was requested\n");
}

TEST(ProgressHook, SaysThatThereWasNothingToDo) {
  Shown training;
  training.add_progress({.last_step = 10});
  training.set_step(10);
  training.start();
  training.end();
  EXPECT_EQ(training.take(), "step 10/10 (100 %): no step to run\n");
}

TEST(ProgressHook, TheRateIsThatOfThisSessionAfterAResumeAndARecovery) {
  Shown training;
  training.add_progress({.last_step = 2'000, .every_secs = 1s});
  training.set_step(1'000);
  training.start();
  training.run_timed(2, 1);
  EXPECT_EQ(training.take(), "step 1001/2000 (50 %)\nstep 1002/2000 (50 %), 1.00 steps/s, 16 min 38 s left\n");
  training.set_step(500);
  training.create();
  training.run_timed(2, 1);
  EXPECT_EQ(training.take(), "step 501/2000 (25 %)\nstep 502/2000 (25 %), 1.00 steps/s, 24 min 58 s left\n");
}

TEST(ProgressHook, ClosesTheLineIfNeitherEndNorAbortComes) {
  std::string screen;
  {
    Shown training;
    auto hook = std::make_shared<ProgressHook>(
        ProgressHook::Options{.sink = [&](std::string_view text) { screen += text; }, .on_terminal = true});
    training.add(hook);
    training.start();
    training.run();
  }
  EXPECT_EQ(screen, "step 1\x1b[K\r\n");
}

TEST(ProgressHook, ReadsTheClockOnceARun) {
  Shown training;
  training.add_progress({.every_secs = 100s});
  training.start();
  training.run();
  const int reads = training.clock.reads();
  training.run(10);
  EXPECT_EQ(training.clock.reads(), reads + 10);
}

}  // namespace
}  // namespace trainhook
