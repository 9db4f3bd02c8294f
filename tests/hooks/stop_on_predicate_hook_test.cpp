// SPDX-License-Identifier: Apache-2.0
/// @file
/// StopOnPredicateHook: when it asks, and what its predicates make of evaluations.
#include <trainhook/hooks/stop_on_predicate_hook.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/events/file_writer.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using support::LogLines;
using support::Process;

/// A disk with the evaluations of four steps.
struct Evaluations {
  Evaluations() {
    FileWriter writer("eval", {.file_system = &disk});
    const auto add = [&](std::int64_t step, double loss, double accuracy) {
      writer.add_scalar("loss", loss, step);
      writer.add_scalar("accuracy", accuracy, step);
    };
    add(1000, 0.8, 0.5);
    add(2000, 0.7, 0.6);
    add(3000, 0.4, 0.7);
    add(3500, 0.41, 0.68);
    writer.close();
  }
  [[nodiscard]] MetricPredicateOptions from(std::int64_t min_steps = 0) {
    return {.min_steps = min_steps, .file_system = &disk};
  }
  testing::MemoryFileSystem disk;
};

TEST(StopIf, ES04_HigherThanTheThreshold) {
  Evaluations done;
  EXPECT_FALSE(stop_if_higher("eval", "accuracy", 0.8, done.from())());
  EXPECT_FALSE(stop_if_higher("eval", "accuracy", 0.6, done.from(4000))());
  const LogLines log;
  EXPECT_TRUE(stop_if_higher("eval", "accuracy", 0.6, done.from())());
  EXPECT_EQ(log.count("I At step 2000, metric \"accuracy\" has value 0.6000000238418579 which is greater than the "
                      "configured threshold (0.6) for early stopping."),
            1U);
}

TEST(StopIf, ES05_LowerThanTheThreshold) {
  Evaluations done;
  EXPECT_FALSE(stop_if_lower("eval", "loss", 0.3, done.from())());
  EXPECT_FALSE(stop_if_lower("eval", "loss", 0.5, done.from(4000))());
  EXPECT_TRUE(stop_if_lower("eval", "loss", 0.5, done.from())());
}

TEST(StopIf, ES06_NoIncrease) {
  Evaluations done;
  EXPECT_FALSE(stop_if_no_increase("eval", "accuracy", 1500, done.from())());
  EXPECT_FALSE(stop_if_no_increase("eval", "accuracy", 500, done.from(4000))());
  const LogLines log;
  EXPECT_TRUE(stop_if_no_increase("eval", "accuracy", 500, done.from())());
  EXPECT_EQ(log.count("I No increase in metric \"accuracy\" for 500 steps, which is greater than or equal to max steps "
                      "(500) configured for early stopping."),
            1U);
}

TEST(StopIf, NoDecrease) {
  Evaluations done;
  EXPECT_FALSE(stop_if_no_decrease("eval", "loss", 1500, done.from())());
  EXPECT_TRUE(stop_if_no_decrease("eval", "loss", 500, done.from())());
}

TEST(StopIf, NothingWasEvaluated) {
  testing::MemoryFileSystem disk;
  EXPECT_FALSE(stop_if_lower("eval", "loss", 1, {.file_system = &disk})());
  EXPECT_FALSE(stop_if_no_decrease("eval", "loss", 0, {.file_system = &disk})());
}

TEST(StopIf, NamesAMetricThatIsNotThere) {
  Evaluations done;
  try {
    static_cast<void>(stop_if_lower("eval", "losses", 1, done.from())());
    FAIL() << "no error";
  } catch (const NotFoundError& error) {
    EXPECT_STREQ(error.what(), "early stopping: the evaluation of step 1000 in eval has no metric 'losses'");
  }
}

/// Runs with a predicate that notes when it is asked.
struct Training : Process {
  explicit Training(StopOnPredicateHook::Options options) {
    add(StopOnPredicateHook(
        [this] {
          asked.push_back(step());
          return answer;
        },
        options));
  }
  bool answer = false;
  std::vector<std::int64_t> asked;  // at which steps
};

TEST(StopOnPredicateHook, ES09_StopsAtTheFirstRunIfThePredicateIsTrue) {
  Training goes_on({});
  goes_on.start().run(1);
  EXPECT_FALSE(goes_on.should_stop());
  const LogLines log;
  Training stops({});
  stops.answer = true;
  stops.start().run(1);
  EXPECT_TRUE(stops.should_stop());
  EXPECT_EQ(log.lines, std::vector<std::string>{"I Requesting early stopping at global step 1"});
}

TEST(StopOnPredicateHook, ES12_AsksAtEveryRunWithoutAPeriod) {
  Training training({.run_every_secs = 0s});
  training.start().run(3);
  EXPECT_FALSE(training.should_stop());
  training.answer = true;
  training.run(1);
  EXPECT_TRUE(training.should_stop());
  EXPECT_EQ(training.asked, (std::vector<std::int64_t>{1, 2, 3, 4}));
}

TEST(StopOnPredicateHook, AsksAtEveryPeriod) {
  Training steps({.run_every_steps = 3});
  steps.start().run(8);
  EXPECT_EQ(steps.asked, (std::vector<std::int64_t>{1, 4, 7}));
  Training minutes({});
  minutes.start();
  for (int i = 0; i < 5; ++i) {
    minutes.run(1);
    minutes.advance_clock(30);
  }
  EXPECT_EQ(minutes.asked, (std::vector<std::int64_t>{1, 3, 5}));
}

TEST(StopOnPredicateHook, MovesOnlyByConstruction) {
  static_assert(std::is_nothrow_move_constructible_v<StopOnPredicateHook>);
  static_assert(!std::is_move_assignable_v<StopOnPredicateHook>);
}

TEST(StopOnPredicateHook, ES11_WantsOnePeriodAndAPredicate) {
  const auto never = [] { return false; };
  EXPECT_THROW(StopOnPredicateHook(never, {.run_every_secs = 1s, .run_every_steps = 1}), InvalidArgumentError);
  EXPECT_THROW(StopOnPredicateHook(never, {.run_every_steps = 0}), InvalidArgumentError);
  EXPECT_THROW(StopOnPredicateHook(never, {.run_every_secs = -1s}), InvalidArgumentError);
  EXPECT_THROW(StopOnPredicateHook(StopPredicate{}), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
