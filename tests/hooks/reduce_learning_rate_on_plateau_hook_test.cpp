// SPDX-License-Identifier: Apache-2.0
/// @file
/// ReduceLearningRateOnPlateauHook: the rate after each value, which is that of Keras 2.15.
#include <trainhook/hooks/reduce_learning_rate_on_plateau_hook.hpp>

#include <limits>
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

using Options = ReduceLearningRateOnPlateauHook::Options;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A process whose learning rate is 1 at first.
struct Training : Process {
  explicit Training(Options options, const Tensor& rate = Tensor(1.0))
      : hook(&add(ReduceLearningRateOnPlateauHook(std::move(options)))) {
    script.variable("learning_rate", rate);
    model.variable("learning_rate") = rate;
  }
  [[nodiscard]] double rate() { return model.variable("learning_rate").scalar<double>(); }

  /// The rate after each value.
  std::vector<double> rates(const std::vector<double>& values) {
    std::vector<double> found;
    for (const double value : values) {
      services.publish("eval/loss", {step() + 1, value});
      run();
      found.push_back(rate());
    }
    return found;
  }
  ReduceLearningRateOnPlateauHook* hook;
};

std::vector<double> rates(Options options, const std::vector<double>& values) {
  const LogLines quiet;
  Training training(std::move(options));
  training.start();
  return training.rates(values);
}

TEST(ReduceLearningRateOnPlateauHook, LowersTheRateWhenTheValueHasNotBecomeBetterSoManyTimesInARow) {
  EXPECT_THAT(rates({.factor = 0.5, .patience = 2, .min_delta = 0}, {5, 4, 4, 4, 3, 3, 3, 3, 3, 3}),
              ElementsAre(1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125));
  EXPECT_THAT(rates({.better = Better::Higher, .factor = 0.5, .patience = 2, .min_delta = 0}, {1, 2, 2, 3, 3, 3, 1}),
              ElementsAre(1, 1, 1, 1, 1, 0.5, 0.5));
}

TEST(ReduceLearningRateOnPlateauHook, ValuesDuringTheCooldownDoNotCountAsFailures) {
  EXPECT_THAT(rates({.factor = 0.5, .patience = 2, .min_delta = 0, .cooldown = 2}, {5, 4, 4, 4, 4, 4, 4, 4, 4, 4}),
              ElementsAre(1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125));
}

TEST(ReduceLearningRateOnPlateauHook, TheRateGetsNoLowerThanItsMinimum) {
  EXPECT_THAT(rates({.factor = 0.25, .patience = 1, .min_delta = 0, .min_learning_rate = 0.1}, {1, 1, 1, 1, 1}),
              ElementsAre(1, 0.25, 0.1, 0.1, 0.1));
}

TEST(ReduceLearningRateOnPlateauHook, AValueIsBetterOnlyByMoreThanMinDeltaAndNanNever) {
  EXPECT_THAT(rates({.factor = 0.5, .patience = 1, .min_delta = 0.5}, {4, 3.75, 3.5, 3.25, 3, 2.75, 2.5}),
              ElementsAre(1, 0.5, 0.25, 0.25, 0.125, 0.0625, 0.0625));
  EXPECT_THAT(rates({.factor = 0.5, .patience = 2, .min_delta = 0}, {kNan, 4, kNan, kNan, 3, 3, kNan}),
              ElementsAre(1, 1, 1, 0.5, 0.5, 0.5, 0.25));
}

TEST(ReduceLearningRateOnPlateauHook, TheRateMayBeAFloat) {
  const LogLines quiet;
  Training training({.factor = 0.5, .patience = 1}, Tensor(1.0F));
  training.start();
  training.services.publish("eval/loss", {1, 1});
  training.run();
  training.services.publish("eval/loss", {2, 1});
  training.run();
  EXPECT_EQ(training.model.variable("learning_rate").scalar<float>(), 0.5F);
}

TEST(ReduceLearningRateOnPlateauHook, SaysWhatItDoes) {
  LogLines log;
  Training training({.factor = 0.5, .patience = 1});
  training.start();
  training.rates({1, 1});
  EXPECT_THAT(log.lines, ElementsAre("I ReduceLearningRateOnPlateauHook: eval/loss has not improved 1 times in a row; "
                                     "after step 2 learning_rate goes from 1 to 0.5."));
}

TEST(ReduceLearningRateOnPlateauHook, TellsRatesApartThatDifferByLittle) {
  LogLines log;
  Training training({.factor = 0.9999999, .patience = 1});
  training.start();
  training.rates({1, 1});
  EXPECT_EQ(log.count("learning_rate goes from 1 to 0.9999999."), 1U);
}

TEST(ReduceLearningRateOnPlateauHook, ContinuesAfterARestart) {
  const LogLines quiet;
  const Options options{.factor = 0.5, .patience = 3, .cooldown = 2};
  Training first(options);
  first.start();
  first.rates({1, 2, 2});
  Training second(options);
  second.begin();
  second.hook->load_state(first.hook->save_state());
  second.create();
  second.set_step(3);
  EXPECT_THAT(second.rates({2, 2}), ElementsAre(0.5, 0.5));
  EXPECT_EQ(second.hook->best(), 1);
}

TEST(ReduceLearningRateOnPlateauHook, SaysThatItsMetricWasNeverPublished) {
  LogLines log;
  Training training({.metric = "loss"});
  training.start();
  training.rates({1, 2});
  training.end();
  EXPECT_EQ(log.count("W ReduceLearningRateOnPlateauHook: no value of 'loss' was published in this run"), 1U);
}

TEST(ReduceLearningRateOnPlateauHook, NeedsAVariableOfOneFloatOrDouble) {
  Training missing({.learning_rate = "rate"});
  missing.begin();
  EXPECT_THROW(missing.create(), NotFoundError);
  Training integer({}, Tensor(std::int64_t{1}));
  integer.begin();
  EXPECT_THROW(integer.create(), InvalidArgumentError);
}

TEST(ReduceLearningRateOnPlateauHook, RefusesOptionsThatMakeNoSense) {
  EXPECT_THROW(ReduceLearningRateOnPlateauHook({.factor = 1}), InvalidArgumentError);
  EXPECT_THROW(ReduceLearningRateOnPlateauHook({.factor = 0}), InvalidArgumentError);
  EXPECT_THROW(ReduceLearningRateOnPlateauHook({.patience = 0}), InvalidArgumentError);
  EXPECT_THROW(ReduceLearningRateOnPlateauHook({.min_delta = kNan}), InvalidArgumentError);
  EXPECT_THROW(ReduceLearningRateOnPlateauHook({.cooldown = -1}), InvalidArgumentError);
  EXPECT_THROW(ReduceLearningRateOnPlateauHook({.min_learning_rate = -1}), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
