// SPDX-License-Identifier: Apache-2.0
/// @file
/// EarlyStoppingHook: which value stops a run, also over restarts.
#include <trainhook/hooks/early_stopping_hook.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

using support::LogLines;
using support::Process;

/// A process that publishes a value before the hook is told of the step, and NaN as a value of no use.
struct Training : Process {
  explicit Training(EarlyStoppingHook::Options options) : stopping(&add(EarlyStoppingHook(std::move(options)))) {
    start();
  }
  /// Runs one step for each value. Returns after how many of them it stops, or 0.
  int after(const std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      services.publish("eval/loss", {step() + 1, values[i]});
      run();
      if (should_stop()) return static_cast<int>(i) + 1;
    }
    return 0;
  }
  EarlyStoppingHook* stopping;
};

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(EarlyStoppingHook, StopsWhenTheValueHasNotBecomeBetterSoManyTimesInARow) {
  EXPECT_EQ(Training({.patience = 1}).after({3, 2, 2, 1}), 3);
  EXPECT_EQ(Training({.patience = 2}).after({3, 4, 2, 3, 1, 1, 1}), 7);
  EXPECT_EQ(Training({.better = Better::Higher, .patience = 2}).after({1, 2, 3, 3, 2, 9}), 5);
  EXPECT_EQ(Training({.patience = 3}).after({3, 2, 1, 0, -1, -2}), 0);
}

TEST(EarlyStoppingHook, AValueIsBetterOnlyByMoreThanMinDelta) {
  EXPECT_EQ(Training({.patience = 2, .min_delta = 0.5}).after({3, 2.75, 2.5}), 3);
  EXPECT_EQ(Training({.patience = 2, .min_delta = 0.5}).after({3, 2.75, 2.25, 2, 1}), 0);
}

TEST(EarlyStoppingHook, NanIsNeverBetter) {
  EXPECT_EQ(Training({.patience = 2}).after({kNan, 1, kNan, kNan}), 4);
  EXPECT_EQ(Training({.patience = 2}).after({kNan, kNan}), 2);
}

TEST(EarlyStoppingHook, AValueCountsOnceHoweverManyStepsItIsThere) {
  Training training({.patience = 1});
  EXPECT_EQ(training.after({1}), 0);
  training.run(10);
  EXPECT_FALSE(training.should_stop());
  EXPECT_EQ(training.stopping->best(), 1);
  EXPECT_EQ(training.stopping->best_step(), 1);
}

TEST(EarlyStoppingHook, SaysWhyItStops) {
  LogLines log;
  Training training({.patience = 2});
  training.after({0.25, 1, 2});
  EXPECT_EQ(log.count("I EarlyStoppingHook: eval/loss has not improved for 2 evaluations; best 0.25 at step 1; "
                      "training stops after step 3"),
            1U);
}

TEST(EarlyStoppingHook, SaysThatNoValueWasANumber) {
  LogLines log;
  Training training({.patience = 2});
  training.after({std::nan(""), std::nan("")});
  EXPECT_EQ(
      log.count("I EarlyStoppingHook: eval/loss has not improved for 2 evaluations; all were NaN; training stops"), 1U);
}

TEST(EarlyStoppingHook, ContinuesAfterARestart) {
  LogLines log;
  Training first({.patience = 3});
  EXPECT_EQ(first.after({1, 2, 2}), 0);
  Process second;
  auto& hook = second.add(EarlyStoppingHook({.patience = 3}));
  second.begin();
  hook.load_state(first.stopping->save_state());
  second.create();
  EXPECT_FALSE(second.should_stop());
  EXPECT_EQ(hook.best(), 1);
  second.services.publish("eval/loss", {4, 1.5});
  second.run();
  EXPECT_TRUE(second.should_stop());
}

TEST(EarlyStoppingHook, ARunThatWasStoppedStopsAtOnceWhenItIsStartedAgain) {
  LogLines log;
  Training first({.patience = 1});
  first.after({1, 2});
  Process second;
  auto& hook = second.add(EarlyStoppingHook({.patience = 1}));
  second.begin();
  hook.load_state(first.stopping->save_state());
  second.create();
  EXPECT_TRUE(second.should_stop());
  EXPECT_EQ(log.count("I EarlyStoppingHook: this run was stopped because eval/loss had not improved for 1 "
                      "evaluations; best 1 at step 1; raise patience to continue"),
            1U);
}

TEST(EarlyStoppingHook, SaysThatItsMetricWasNeverPublished) {
  LogLines log;
  Training training({.metric = "validation/loss"});
  training.after({1, 2, 3});
  training.end();
  EXPECT_EQ(log.count("W EarlyStoppingHook: no value of 'validation/loss' was published in this run"), 1U);
}

TEST(EarlyStoppingHook, RefusesOptionsThatMakeNoSense) {
  EXPECT_THROW(EarlyStoppingHook({.patience = 0}), InvalidArgumentError);
  EXPECT_THROW(EarlyStoppingHook({.min_delta = -1}), InvalidArgumentError);
  EXPECT_THROW(EarlyStoppingHook({.min_delta = kNan}), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
