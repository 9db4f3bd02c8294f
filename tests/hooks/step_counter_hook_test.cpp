// SPDX-License-Identifier: Apache-2.0
/// @file
/// StepCounterHook: the rates it reports, and those it does not.
#include <trainhook/hooks/step_counter_hook.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "training_double.hpp"

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

struct Counted : support::Process {
  support::LogLines log;

  void run_timed(int times, double seconds) {
    for (int i = 0; i < times; ++i) {
      advance_clock(seconds);
      run();
    }
  }
  Lines finish() {
    end();
    return support::event_lines(*this, "run");
  }
};

TEST(StepCounterHook, X31_RefusesBadOptions) {
  EXPECT_THROW(StepCounterHook({.every_n_steps = 10, .every_n_secs = 1s}), InvalidArgumentError);
  EXPECT_THROW(StepCounterHook({.every_n_steps = 0}), InvalidArgumentError);
  EXPECT_THROW(StepCounterHook({.every_n_secs = -1s}), InvalidArgumentError);
}

TEST(StepCounterHook, B041_CountsEverySoManySteps) {
  Counted training;
  training.add(StepCounterHook({.every_n_steps = 10, .output_dir = "run"}));
  training.start();
  training.run_timed(30, 0.01);
  EXPECT_EQ(training.finish(), (Lines{"11 global_step/sec=100", "21 global_step/sec=100"}));
  EXPECT_EQ(training.log.lines, (Lines{"I global_step/sec: 100", "I global_step/sec: 100"}));
}

TEST(StepCounterHook, B042_CountsEverySoManySeconds) {
  Counted training;
  training.add(StepCounterHook({.every_n_secs = 100ms, .output_dir = "run"}));
  training.start();
  training.run_timed(3, 0.2);
  EXPECT_EQ(training.finish(), (Lines{"2 global_step/sec=5", "3 global_step/sec=5"}));
}

TEST(StepCounterHook, CountsEveryHundredStepsByDefault) {
  Counted training;
  training.add(StepCounterHook());
  training.start();
  training.run_timed(101, 0.01);
  EXPECT_EQ(training.log.lines, Lines{"I global_step/sec: 100"});
}

TEST(StepCounterHook, B045_B046_CountsStepsNotRuns) {
  const auto steps_at = [](std::int64_t every) {
    Counted training;
    training.script.step_by = 5;
    training.add(StepCounterHook({.every_n_steps = every, .output_dir = "run"}));
    training.start();
    training.run_timed(5, 1);
    return training.finish();
  };
  EXPECT_EQ(steps_at(10), (Lines{"15 global_step/sec=5", "25 global_step/sec=5"}));
  EXPECT_EQ(steps_at(5),
            (Lines{"10 global_step/sec=5", "15 global_step/sec=5", "20 global_step/sec=5", "25 global_step/sec=5"}));
}

TEST(StepCounterHook, WritesToTheWriterThatWasGiven) {
  Counted training;
  testing::RecordingWriter recorder;
  training.add(StepCounterHook({.every_n_steps = 1, .output_dir = "ignored", .summary_writer = recorder.writer()}));
  training.start();
  training.run_timed(2, 0.5);
  EXPECT_EQ(recorder.lines(), (Lines{"1 START", "2 global_step/sec=2"}));
  EXPECT_FALSE(training.disk.exists("ignored"));
}

TEST(StepCounterHook, TheTagIsNamedAfterTheStep) {
  support::Outside outside;
  support::LogLines log;
  support::TrainingDouble training(outside, "foo");
  testing::RecordingWriter recorder;
  training.add(StepCounterHook({.every_n_steps = 1, .summary_writer = recorder.writer()}));
  training.start();
  training.run();
  outside.advance_clock(0.5);
  training.run();
  EXPECT_EQ(recorder.lines(), (Lines{"1 START", "2 foo/step/sec=2"}));
}

TEST(StepCounterHook, B044_S20_WarnsAFewTimesIfTheStepNeverRises) {
  Counted training;
  training.script.step_by = 0;
  training.add(StepCounterHook({.every_n_steps = 1}));
  training.start();
  training.run();
  training.run(30);
  EXPECT_EQ(training.log.count("W StepCounterHook: the global step has not been increased"), 1U);
  training.run(1000);
  EXPECT_EQ(training.log.lines.size(), 5U);
}

TEST(StepCounterHook, S20_DoesNotWarnAboutRunsInBetweenThatTrainNothing) {
  Counted training;
  training.add(StepCounterHook({.every_n_steps = 1'000}));
  training.start();
  for (int i = 0; i < 50; ++i) {
    training.run();
    training.run(training.nothing);
  }
  EXPECT_EQ(training.log.lines, Lines{});
}

TEST(StepCounterHook, S20_GivesNoRateIfNoTimePassedOrTheStepWentBack) {
  Counted training;
  training.add(StepCounterHook({.every_n_secs = 1ms}));
  training.start();
  training.run_timed(1, 1);
  training.set_step(-100);
  training.run_timed(1, 1);
  EXPECT_EQ(training.log.lines, Lines{});
  Counted coarse;
  coarse.add(StepCounterHook({.every_n_steps = 1}));
  coarse.start();
  coarse.run_timed(3, 0);
  EXPECT_EQ(coarse.log.lines, Lines{});
}

TEST(StepCounterHook, S20_CountsFromTheBeginningAfterARecovery) {
  Counted training;
  training.add(StepCounterHook({.every_n_steps = 10, .output_dir = "run"}));
  training.start();
  training.run_timed(11, 0.1);
  training.advance_clock(1'000);
  training.set_step(4);
  training.create();
  training.run_timed(12, 0.1);
  EXPECT_EQ(training.finish(), (Lines{"11 global_step/sec=10", "15 global_step/sec=10"}));
}

TEST(StepCounterHook, OpensNoEventFileBeforeThereIsARate) {
  Counted training;
  training.add(StepCounterHook({.output_dir = "run"}));
  training.start();
  training.run_timed(5, 1);
  training.end();
  EXPECT_FALSE(training.disk.exists("run"));
}

TEST(StepCounterHook, X45_NeedsAGlobalStep) {
  Graph graph;
  StepCounterHook hook;
  EXPECT_THROW(hook.begin(graph), FailedPreconditionError);
}

}  // namespace
}  // namespace trainhook
