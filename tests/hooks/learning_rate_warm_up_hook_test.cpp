// SPDX-License-Identifier: Apache-2.0
/// @file
/// LearningRateWarmUpHook: the rate of each step.
#include <trainhook/hooks/learning_rate_warm_up_hook.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

using support::LogLines;
using support::Process;
using ::testing::ElementsAre;

using Options = LearningRateWarmUpHook::Options;

/// A process whose learning rate is 8 at first.
struct Training : Process {
  explicit Training(Options options, const Tensor& rate = Tensor(8.0))
      : hook(&add(LearningRateWarmUpHook(std::move(options)))) {
    script.variable("learning_rate", rate);
    model.variable("learning_rate") = rate;
  }
  [[nodiscard]] double rate() { return model.variable("learning_rate").scalar<double>(); }

  /// The rates that so many steps are made with.
  std::vector<double> rates(int steps) {
    std::vector<double> found;
    for (int i = 0; i < steps; ++i) {
      found.push_back(rate());
      run();
    }
    return found;
  }
  LearningRateWarmUpHook* hook;
};

TEST(LearningRateWarmUpHook, RaisesTheRateInAStraightLine) {
  LogLines log;
  Training training({.steps = 4});
  training.start();
  EXPECT_THAT(training.rates(6), ElementsAre(2, 4, 6, 8, 8, 8));
  EXPECT_THAT(log.lines, ElementsAre("I LearningRateWarmUpHook: learning_rate rises to 8 until step 4."));
}

TEST(LearningRateWarmUpHook, BeginsWithAPartOfTheRate) {
  const LogLines quiet;
  Training training({.steps = 2, .start = 0.5});
  training.start();
  EXPECT_THAT(training.rates(3), ElementsAre(6, 8, 8));
}

TEST(LearningRateWarmUpHook, TheRateMayBeAFloat) {
  const LogLines quiet;
  Training training({.steps = 4}, Tensor(8.0F));
  training.start();
  training.run();
  EXPECT_EQ(training.model.variable("learning_rate").scalar<float>(), 4.0F);
}

TEST(LearningRateWarmUpHook, LeavesTheRateToOthersWhenItIsOver) {
  const LogLines quiet;
  Training training({.steps = 2});
  training.start();
  training.run(2);
  training.model.variable("learning_rate") = Tensor(1.0);
  EXPECT_THAT(training.rates(2), ElementsAre(1, 1));
  training.create();  // a recovery
  EXPECT_EQ(training.rate(), 1);
}

TEST(LearningRateWarmUpHook, ReachesTheRateThoughARunMakesSeveralSteps) {
  const LogLines quiet;
  Training training({.steps = 4});
  training.start();
  training.set_step(7);
  training.run();
  EXPECT_EQ(training.rate(), 8);
}

TEST(LearningRateWarmUpHook, ContinuesAfterARestart) {
  const LogLines quiet;
  for (int steps = 0; steps < 6; ++steps) {
    Training first({.steps = 4});
    first.start();
    first.run(steps);
    Training second({.steps = 4});
    second.begin();
    second.hook->load_state(first.hook->save_state());
    second.model.variable("learning_rate") = Tensor(first.rate());
    second.set_step(steps);
    second.create();
    EXPECT_EQ(second.rates(4), first.rates(4)) << steps;
  }
}

TEST(LearningRateWarmUpHook, NeedsAVariableOfOneFloatOrDouble) {
  Training missing({.steps = 1, .learning_rate = "rate"});
  missing.begin();
  EXPECT_THROW(missing.create(), NotFoundError);
  Training integer({.steps = 1}, Tensor(std::int64_t{1}));
  integer.begin();
  EXPECT_THROW(integer.create(), InvalidArgumentError);
}

TEST(LearningRateWarmUpHook, RefusesOptionsThatMakeNoSense) {
  EXPECT_THROW(LearningRateWarmUpHook({}), InvalidArgumentError);
  EXPECT_THROW(LearningRateWarmUpHook({.steps = -1}), InvalidArgumentError);
  EXPECT_THROW(LearningRateWarmUpHook({.steps = 1, .start = 1}), InvalidArgumentError);
  EXPECT_THROW(LearningRateWarmUpHook({.steps = 1, .start = -0.1}), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
