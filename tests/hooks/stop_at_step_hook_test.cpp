// SPDX-License-Identifier: Apache-2.0
/// @file
/// StopAtStepHook: where it stops, even over restarts.
#include <trainhook/hooks/stop_at_step_hook.hpp>

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include <trainhook/testing/log_lines.hpp>
#include "training_double.hpp"

namespace trainhook {
namespace {

using support::Process;

TEST(StopAtStepHook, B006_WantsExactlyOneTarget) {
  EXPECT_THROW(StopAtStepHook({.num_steps = 10, .last_step = 20}), InvalidArgumentError);
  EXPECT_THROW(StopAtStepHook({}), InvalidArgumentError);
  EXPECT_THROW(StopAtStepHook({.num_steps = -1}), InvalidArgumentError);
  EXPECT_THROW(StopAtStepHook({.last_step = -1}), InvalidArgumentError);
}

TEST(StopAtStepHook, B007_StopsBasedOnLastStep) {
  Process process;
  EXPECT_EQ(StopAtStepHook({.last_step = 10}).last_step(), 10) << "before `begin`, too";
  EXPECT_EQ(StopAtStepHook({.num_steps = 10}).last_step(), std::nullopt) << "it depends on where the session starts";
  process.add(StopAtStepHook({.last_step = 10}));
  process.set_step(5);
  process.start();
  process.run(process.nothing);
  EXPECT_FALSE(process.should_stop());
  process.set_step(9);
  process.run(process.nothing);
  EXPECT_FALSE(process.should_stop());
  process.set_step(10);
  process.run(process.nothing);
  EXPECT_TRUE(process.should_stop());
  process.set_step(11);
  process.create();
  EXPECT_TRUE(process.should_stop()) << "no run is needed to know";
  EXPECT_FALSE(process.session->should_stop());
  process.run(process.nothing);
  EXPECT_TRUE(process.session->should_stop()) << "and a run that is made all the same says so too";
}

TEST(StopAtStepHook, B009_StopsAfterSoManySteps) {
  Process process;
  process.add(StopAtStepHook({.num_steps = 10}));
  process.set_step(5);
  process.start();
  process.run(process.nothing);
  EXPECT_FALSE(process.should_stop());
  process.set_step(15);
  process.run(process.nothing);
  EXPECT_TRUE(process.should_stop());
}

TEST(StopAtStepHook, StopsAtTheLargestStepIfTheSumIsBeyondIt) {
  Process process;
  process.add(StopAtStepHook({.num_steps = (std::numeric_limits<std::int64_t>::max)()}));
  process.set_step(5);
  process.start();
  process.run(process.nothing);
  EXPECT_FALSE(process.should_stop());
}

TEST(StopAtStepHook, RunsExactlyTheStepsThatAreMissing) {
  Process process;
  process.add(StopAtStepHook({.last_step = 7}));
  process.start();
  while (!process.should_stop()) process.run();
  EXPECT_EQ(process.step(), 7);
}

TEST(StopAtStepHook, SaysThatItComesTooLate) {
  support::LogLines log;
  Process process;
  process.add(StopAtStepHook({.last_step = 10}));
  process.set_step(12);
  process.start();
  EXPECT_EQ(
      log.count("StopAtStepHook: the model is at step 12 already, so the loop makes no step; its last step is 10"), 1U);
}

TEST(StopAtStepHook, X33_S16_RunsNoStepIfTheLastIsReachedAlready) {
  Process process;
  process.add(StopAtStepHook({.last_step = 10}));
  process.set_step(10);
  process.start();
  EXPECT_TRUE(process.should_stop());
}

TEST(StopAtStepHook, NumStepsOfZeroRunsNothing) {
  Process process;
  process.add(StopAtStepHook({.num_steps = 0}));
  process.start();
  EXPECT_TRUE(process.should_stop());
}

TEST(StopAtStepHook, X35_KeepsItsTargetOverARecovery) {
  Process process;
  StopAtStepHook& hook = process.add(StopAtStepHook({.num_steps = 10}));
  process.set_step(20);
  process.start();
  process.run(3);
  process.set_step(20);
  process.create();
  EXPECT_EQ(hook.last_step(), 30);
  while (!process.should_stop()) process.run();
  EXPECT_EQ(process.step(), 30);
}

TEST(StopAtStepHook, S16_CountsFromTheBeginningInASecondSession) {
  auto hook = std::make_shared<StopAtStepHook>(StopAtStepHook::Options{.num_steps = 10});
  {
    Process first;
    first.add(hook);
    first.start();
    while (!first.should_stop()) first.run();
    EXPECT_EQ(first.step(), 10);
  }
  Process second;
  second.add(hook);
  second.set_step(10);
  second.start();
  while (!second.should_stop()) second.run();
  EXPECT_EQ(second.step(), 20);
}

TEST(StopAtStepHook, X45_NeedsAGlobalStep) {
  Graph graph;
  StopAtStepHook hook({.last_step = 1});
  EXPECT_THROW(hook.begin(graph), FailedPreconditionError);
}

}  // namespace
}  // namespace trainhook
