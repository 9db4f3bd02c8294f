// SPDX-License-Identifier: Apache-2.0
/// @file
/// StopOnPredicateHook: when it asks.
#include <trainhook/hooks/stop_on_predicate_hook.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using support::LogLines;
using support::Process;

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
