// SPDX-License-Identifier: Apache-2.0
/// @file
/// SecondOrStepTimer: when it is due, what elapsed, what it refuses.
#include <trainhook/session/second_or_step_timer.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "training_double.hpp"

namespace trainhook {
namespace {

using namespace std::chrono_literals;

std::string refusal(SecondOrStepTimer::Options options) {
  try {
    const SecondOrStepTimer timer(options, "SomeHook", "save_secs", "save_steps");
  } catch (const InvalidArgumentError& error) { return error.what(); }
  return "accepted";
}

TEST(SecondOrStepTimer, B001_B002_WantsExactlyOnePeriod) {
  EXPECT_EQ(refusal({.every_secs = 2s, .every_steps = 10}),
            "SomeHook: exactly one of save_secs and save_steps must be given, not both");
  EXPECT_EQ(refusal({}), "SomeHook: exactly one of save_secs and save_steps must be given, not neither");
  EXPECT_EQ(refusal({.every_secs = 2s}), "accepted");
  EXPECT_EQ(refusal({.every_steps = 1}), "accepted");
}

TEST(SecondOrStepTimer, X31_RefusesPeriodsOfZeroAndBelow) {
  EXPECT_EQ(refusal({.every_secs = 0s}), "SomeHook: save_secs is 0 s; it must be above 0");
  EXPECT_EQ(refusal({.every_secs = -1500ms}), "SomeHook: save_secs is -1.5 s; it must be above 0");
  EXPECT_EQ(refusal({.every_steps = 0}), "SomeHook: save_steps is 0; it must be above 0");
  EXPECT_EQ(refusal({.every_steps = -3}), "SomeHook: save_steps is -3; it must be above 0");
  EXPECT_EQ(refusal({.every_secs = 1s, .align = true}),
            "SomeHook: only a period in steps can be aligned; give save_steps");
}

TEST(SecondOrStepTimer, B004_TriggersEverySoManySteps) {
  SecondOrStepTimer timer({.every_steps = 3});
  EXPECT_TRUE(timer.should_trigger_for_step(1, 0s));
  timer.update_last_triggered_step(1, 0s);
  EXPECT_FALSE(timer.should_trigger_for_step(1, 0s));
  EXPECT_FALSE(timer.should_trigger_for_step(2, 0s));
  EXPECT_FALSE(timer.should_trigger_for_step(3, 0s));
  EXPECT_TRUE(timer.should_trigger_for_step(4, 0s));
}

TEST(SecondOrStepTimer, TriggersAfterSoMuchTimeButNeverTwiceAtOneStep) {
  SecondOrStepTimer timer({.every_secs = 2s});
  EXPECT_TRUE(timer.should_trigger_for_step(1, 10s));
  timer.update_last_triggered_step(1, 10s);
  EXPECT_FALSE(timer.should_trigger_for_step(1, 20s));
  EXPECT_FALSE(timer.should_trigger_for_step(2, 11999ms));
  EXPECT_TRUE(timer.should_trigger_for_step(2, 12s));
}

TEST(SecondOrStepTimer, APeriodThatIsLongerThanAClockCountsTriggersOnce) {
  SecondOrStepTimer timer({.every_secs = std::chrono::seconds::max()});
  EXPECT_TRUE(timer.should_trigger_for_step(1, 10s));
  timer.update_last_triggered_step(1, 10s);
  EXPECT_FALSE(timer.should_trigger_for_step(2, 24h * 365 * 50));
}

TEST(SecondOrStepTimer, SaysFromWhichStepOnItIsDue) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto next = [](const SecondOrStepTimer::Options& options, std::optional<std::int64_t> last) {
    SecondOrStepTimer timer(options);
    if (last) timer.update_last_triggered_step(*last, 0s);
    return timer.next_step();
  };
  EXPECT_EQ(next({.every_steps = 10}, std::nullopt), std::numeric_limits<std::int64_t>::lowest());
  EXPECT_EQ(next({.every_steps = 10}, 3), 13);
  EXPECT_EQ(next({.every_steps = 10, .align = true}, 3), 10);
  EXPECT_EQ(next({.every_steps = kMost}, 3), kMost);
  EXPECT_EQ(next({.every_steps = kMost / 2 + 1, .align = true}, kMost / 2 + 2), kMost);
  EXPECT_EQ(next({.every_secs = 1s}, 3), std::nullopt);
}

TEST(SecondOrStepTimer, B005_TellsWhatElapsed) {
  SecondOrStepTimer timer({.every_steps = 1});
  EXPECT_FALSE(timer.update_last_triggered_step(1, 1s).has_value());
  const auto four = timer.update_last_triggered_step(5, 3s);
  ASSERT_TRUE(four.has_value());
  EXPECT_EQ(four->steps, 4);
  EXPECT_EQ(four->time, 2s);
  const auto two = timer.update_last_triggered_step(7, 4s);
  ASSERT_TRUE(two.has_value());
  EXPECT_EQ(two->steps, 2);
  EXPECT_EQ(two->time, 1s);
  EXPECT_EQ(timer.last_triggered_step(), 7);
}

TEST(SecondOrStepTimer, X28_AfterARewindWaitsForTheOldStepPlusThePeriod) {
  SecondOrStepTimer timer({.every_steps = 10});
  timer.update_last_triggered_step(100, 0s);
  for (std::int64_t step = 50; step < 110; ++step) EXPECT_FALSE(timer.should_trigger_for_step(step, 0s)) << step;
  EXPECT_TRUE(timer.should_trigger_for_step(110, 0s));
}

TEST(SecondOrStepTimer, X30_ResetForgetsEverything) {
  SecondOrStepTimer timer({.every_steps = 10});
  timer.update_last_triggered_step(100, 0s);
  timer.reset();
  EXPECT_FALSE(timer.last_triggered_step().has_value());
  EXPECT_TRUE(timer.should_trigger_for_step(100, 0s));
  EXPECT_FALSE(timer.update_last_triggered_step(100, 0s).has_value());
}

TEST(SecondOrStepTimer, S19_AlignedTriggersAtMultiplesWhereverItBegan) {
  SecondOrStepTimer timer({.every_steps = 10, .align = true});
  timer.set_last_triggered_step(7);
  EXPECT_FALSE(timer.should_trigger_for_step(9, 0s));
  EXPECT_TRUE(timer.should_trigger_for_step(10, 0s));
  EXPECT_TRUE(timer.should_trigger_for_step(13, 0s));
  timer.set_last_triggered_step(13);
  EXPECT_FALSE(timer.should_trigger_for_step(19, 0s));
  EXPECT_TRUE(timer.should_trigger_for_step(20, 0s));
}

TEST(SecondOrStepTimer, AStepOfAnEarlierProcessHasNoTime) {
  SecondOrStepTimer seconds({.every_secs = 100s});
  seconds.set_last_triggered_step(5);
  EXPECT_FALSE(seconds.should_trigger_for_step(5, 0s));
  EXPECT_TRUE(seconds.should_trigger_for_step(6, 0s));
}

TEST(SecondOrStepTimer, MovesWithItsHookInAnAssignmentToo) {
  struct Periodic final : SessionRunHook {
    SecondOrStepTimer timer{*this, {.every_steps = 3}};
  };
  Periodic hook;
  {
    Periodic other;
    other.timer.set_last_triggered_step(5);
    hook = std::move(other);
  }
  EXPECT_EQ(hook.timer.last_triggered_step(), 5);
  ASSERT_EQ(detail::HookAccess::timers(hook).size(), 1U);
  EXPECT_EQ(detail::HookAccess::timers(hook)[0]->step, 5) << "it is saved with the hook";
}

TEST(SecondOrStepTimer, X32_S19_APeriodInSecondsAsksTheMonotonicClockAndOneInStepsAsksNone) {
  support::Outside outside;
  support::TrainingDouble training(outside);
  const RunRequest nothing;
  SecondOrStepTimer steps({.every_steps = 2});
  SecondOrStepTimer seconds({.every_secs = 2s});
  SessionRunContext context(training.model, nothing, outside.clock, nullptr);
  steps.update_last_triggered_step(1, context);
  EXPECT_TRUE(steps.should_trigger_for_step(3, context));
  EXPECT_EQ(outside.clock.reads(), 0);
  seconds.update_last_triggered_step(1, context);
  EXPECT_EQ(outside.clock.reads(), 1);
  outside.clock.advance(2s);
  SessionRunContext later(training.model, nothing, outside.clock, nullptr);
  EXPECT_TRUE(seconds.should_trigger_for_step(2, later));
}

TEST(SecondOrStepTimer, RecordsATriggerOnlyIfItIsDue) {
  support::Outside outside;
  support::TrainingDouble training(outside);
  const RunRequest nothing;
  SessionRunContext context(training.model, nothing, outside.clock, nullptr);
  SecondOrStepTimer timer({.every_steps = 2});
  EXPECT_TRUE(timer.trigger_if_due(1, context));
  EXPECT_FALSE(timer.trigger_if_due(2, context));
  EXPECT_EQ(timer.last_triggered_step(), 1);
  EXPECT_TRUE(timer.trigger_if_due(3, context));
  EXPECT_EQ(timer.last_triggered_step(), 3);
}

}  // namespace
}  // namespace trainhook
