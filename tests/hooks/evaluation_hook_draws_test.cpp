// SPDX-License-Identifier: Apache-2.0
/// @file
/// EvaluationHook: it draws no random number that the training would have drawn.
#include <trainhook/hooks/evaluation_hook.hpp>

#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

/// A training whose evaluations draw as well; each call of `to` is a process.
struct Training {
  testing::MemoryFileSystem disk;
  double weight = 0;
  bool fails = false;

  /// @param hooks made with the function that evaluates
  template <class MakeHooks>
  void to(std::int64_t last_step, MakeHooks hooks) {
    std::mt19937 noise(5);
    std::vector<std::minstd_rand> more(2, std::minstd_rand(7));
    LoopSession loop;
    loop.variable("weight", weight);
    loop.state("noise", noise);
    loop.state("more", more);
    const auto evaluate = [&] {
      const double loss = static_cast<double>(noise() % 100 + more[1]() % 100);
      if (fails) throw std::range_error("no figure");
      return Metrics{{"loss", loss}};
    };
    MonitoredTrainingSessionOptions options{.checkpoint_dir = "run", .file_system = &disk};
    options.save_checkpoint_steps = 100;
    options.save_summaries_steps = 0;
    options.hooks = hooks(evaluate);
    options.hooks.emplace_back(StopAtStepHook({.last_step = last_step}));
    auto session = monitored_training_session(loop, options);
    while (!session.should_stop()) {
      try {
        session.run([&] { weight += static_cast<double>(noise() % 1000 + more[0]() % 10 + more[1]() % 10); });
      } catch (const std::range_error&) {  // the session stays usable
      }
    }
    session.close();
  }
};

const auto none = [](const auto&) { return HookList(); };

double trained_without_evaluations() {
  Training training;
  training.to(10, none);
  return training.weight;
}

TEST(EvaluationHook, LeavesTheGeneratorsOfALoopWhereTheyStood) {
  const testing::LogLines quiet;
  Training training;
  training.to(10, [](const auto& evaluate) { return HookList{EvaluationHook(evaluate, {.every_n_steps = 2})}; });
  EXPECT_EQ(training.weight, trained_without_evaluations());
}

TEST(EvaluationHook, APlannedStopThatEvaluatesChangesNothingOfTheRunThatGoesOn) {
  const testing::LogLines quiet;
  const auto at_end = [](const auto& evaluate) { return HookList{EvaluationHook(evaluate, {})}; };
  Training training;
  training.to(4, at_end);
  training.to(7, at_end);
  training.to(10, at_end);
  EXPECT_EQ(training.weight, trained_without_evaluations());
}

TEST(EvaluationHook, LeavesTheGeneratorsWhereTheyStoodIfItFails) {
  const testing::LogLines quiet;
  Training training;
  training.fails = true;
  training.to(10, [](const auto& evaluate) {
    return HookList{EvaluationHook(evaluate, {.every_n_steps = 3, .at_end = false})};
  });
  EXPECT_EQ(training.weight, trained_without_evaluations());
}

}  // namespace
}  // namespace trainhook
