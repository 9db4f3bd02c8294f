// SPDX-License-Identifier: Apache-2.0
/// @file
/// ExponentialMovingAverageHook: the averages, also over a restart, and their use.
#include <trainhook/hooks/exponential_moving_average_hook.hpp>

#include <cstdint>
#include <utility>
#include <vector>

#include <expect_error.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

using support::LogLines;
using support::Process;
using ::testing::DoubleNear;
using ::testing::ElementsAre;

using Options = ExponentialMovingAverageHook::Options;

/// A process with one variable, which is 0 at first.
struct Training : Process {
  explicit Training(Options options, const Tensor& start = Tensor(0.0))
      : hook(&add(ExponentialMovingAverageHook(std::move(options)))) {
    script.variable("weight", start);
    model.variable("weight") = start;
  }
  /// The average after each step, which gives the variable one of the values.
  std::vector<double> averages(const std::vector<double>& values) {
    std::vector<double> found;
    for (const double value : values) {
      model.variable("weight") = Tensor(value);
      run();
      found.push_back(hook->averages()[0].tensor.scalar<double>());
    }
    return found;
  }
  ExponentialMovingAverageHook* hook;
};

/// As TensorFlow 2.15 has it, whose decay is a float.
TEST(ExponentialMovingAverageHook, FollowsTheVariableAsTensorFlowDoes) {
  Training training({.decay = 0.9, .variables = {"weight"}});
  training.start();
  EXPECT_THAT(training.averages({1, 2, 3, 4}), ElementsAre(DoubleNear(0.1, 1e-6), DoubleNear(0.29, 1e-6),
                                                           DoubleNear(0.561, 1e-6), DoubleNear(0.9049, 1e-6)));
}

TEST(ExponentialMovingAverageHook, FollowsFasterAtFirstWithWarmUp) {
  Training training({.decay = 0.9, .warm_up = true, .variables = {"weight"}});
  training.start();
  EXPECT_THAT(training.averages({1, 2, 3, 4}), ElementsAre(DoubleNear(0.8181818, 1e-6), DoubleNear(1.7045454, 1e-6),
                                                           DoubleNear(2.6013986, 1e-6), DoubleNear(3.5004995, 1e-6)));
}

TEST(ExponentialMovingAverageHook, TheSessionHasTheAveragesUntilTheyAreSwappedBack) {
  Training training({.decay = 0.5, .variables = {"weight"}}, Tensor(0.0F));
  training.start();
  training.model.variable("weight") = Tensor(1.0F);
  training.run();
  {
    const auto swapped = training.hook->use_averages();
    EXPECT_EQ(training.model.variable("weight").scalar<float>(), 0.5F);
  }
  EXPECT_EQ(training.model.variable("weight").scalar<float>(), 1.0F);
}

TEST(ExponentialMovingAverageHook, ContinuesAfterARestartWithItsAverages) {
  const Options options{.decay = 0.9, .warm_up = true, .variables = {"weight"}};
  Training whole(options);
  whole.start();
  const std::vector<double> wanted = whole.averages({1, 2, 3, 4});
  Training first(options);
  first.start();
  first.averages({1, 2});
  Training second(options);
  second.begin();
  second.hook->load_state(first.hook->save_state());
  second.create();
  EXPECT_THAT(second.averages({3, 4}), ElementsAre(wanted[2], wanted[3]));
}

TEST(ExponentialMovingAverageHook, AVariableWithoutAnAverageStartsFromItsPresentValueAndTheOthersKeepTheirs) {
  LogLines log;
  Training training({.variables = {"weight", "bias"}}, Tensor(7.0));
  training.script.variable("bias", Tensor(2.0));
  training.model.variable("bias") = Tensor(2.0);
  training.begin();
  StateValues state;
  state.set("updates", Tensor(std::int64_t{5}));
  state.set("average/bias", Tensor(3.0));
  training.hook->load_state(state);
  training.create();
  EXPECT_EQ(training.hook->averages()[0].tensor.scalar<double>(), 7);
  EXPECT_EQ(training.hook->averages()[1].tensor.scalar<double>(), 3);
  EXPECT_EQ(log.count("W ExponentialMovingAverageHook: the checkpoint has no average of 1 of 2 variables in their "
                      "shapes, 'weight' for example; those start from the present values"),
            1U);
}

TEST(ExponentialMovingAverageHook, AnAverageOfAnotherShapeIsNotRead) {
  for (const std::int64_t saved : {1, 2'000'000}) {
    LogLines log;
    const Tensor start = Tensor::copy_of<double>(std::vector<double>(10, 7), {10});
    Training training({.decay = 0.5, .variables = {"weight"}}, start);
    training.begin();
    StateValues state;
    state.set("updates", Tensor(std::int64_t{5}));
    state.set("average/weight", Tensor(DType::Double, Shape({saved})));
    training.hook->load_state(state);
    training.create();
    training.run();
    EXPECT_EQ(training.hook->averages()[0].tensor, start);
    EXPECT_EQ(log.count("W ExponentialMovingAverageHook: the checkpoint has no average of 1 of 1 variables"), 1U);
  }
}

TEST(ExponentialMovingAverageHook, AVariableThatChangesItsShapeIsAnError) {
  Training training({.decay = 0.5, .variables = {"weight"}});
  training.start();
  training.model.variable("weight") = Tensor::of<double>({1, 2, 3});
  testing::expect_error<FailedPreconditionError>({"variable 'weight' has changed its shape from [] to [3]"},
                                                 [&] { training.run(); });
}

TEST(ExponentialMovingAverageHook, RefusesWhatItCannotAverage) {
  EXPECT_THROW(ExponentialMovingAverageHook({.decay = 1}), InvalidArgumentError);
  EXPECT_THROW(ExponentialMovingAverageHook({.decay = -1}), InvalidArgumentError);
  Training missing({.variables = {"bias"}});
  EXPECT_THROW(missing.begin(), InvalidArgumentError);
  Training integer({.variables = {"global_step"}});
  EXPECT_THROW(integer.begin(), InvalidArgumentError);
  const Training early({.variables = {"weight"}});
  EXPECT_THROW(static_cast<void>(early.hook->use_averages()), FailedPreconditionError);
}

}  // namespace
}  // namespace trainhook
