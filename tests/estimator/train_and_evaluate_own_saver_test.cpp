// SPDX-License-Identifier: Apache-2.0
/// @file
/// train_and_evaluate with a saver hook of the user: it evaluates and stops at the same steps, however often it is
/// stopped.
#include <trainhook/estimator/train_and_evaluate.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/early_stopping_hook.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/testing/log_lines.hpp>

#include "line_model.hpp"

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using support::EstimatorTest;
using support::line;
using support::line_model;
using Steps = std::set<std::int64_t>;

/// How a process ends that does not come to the end of the training.
struct Stop {
  std::int64_t step = 0;
  bool is_kill = false;
};

class TrainAndEvaluateWithOwnSaver : public EstimatorTest {
 protected:
  struct Killed {};

  /// Asks for a checkpoint after that step.
  struct AskingForASave final : SessionRunHook {
    explicit AskingForASave(std::int64_t when) : step(when) {}
    void after_run(SessionRunContext& context, const SessionRunValues&) override {
      if (context.global_step() == step) services().request_save();
    }
    std::int64_t step;
  };

  /// Trains in one process more than there are stops, with a saver of its own; returns what was evaluated, of which the
  /// last is the step at which it ended.
  Steps trained(const std::vector<Stop>& stops, std::int64_t asks_at = -1, RunConfig config = {}) {
    config.model_dir = fmt::format("run {}", ++num_runs_);
    Estimator estimator = make(line_model, config);
    for (std::size_t i = 0; i <= stops.size(); ++i) {
      const Stop stop = i < stops.size() ? stops[i] : Stop{.step = -1};
      const auto end = [stop](SessionRunContext& context, const SessionRunValues&) {
        if (context.global_step() != stop.step) return;
        if (stop.is_kill) throw Killed();
        context.interrupt("a signal");
      };
      TrainSpec spec{.input_fn = line().repeat(), .max_steps = 20};
      spec.hooks = {EarlyStoppingHook({.metric = "eval/mean x", .patience = 3}),
                    CheckpointSaverHook({.checkpoint_dir = config.model_dir, .save_steps = 3}), AskingForASave(asks_at),
                    LambdaHook({.after_run = end})};
      try {
        train_and_evaluate(estimator, spec, {.input_fn = line(), .throttle_secs = 0s});
      } catch (const Killed&) {  // nothing is saved on the way out
      }
    }
    Steps steps;
    for (const auto& [key, value] : scalars_in(config.model_dir + "/eval")) steps.insert(key.first);
    EXPECT_EQ(step_of(estimator), *steps.rbegin());
    return steps;
  }

 private:
  int num_runs_ = 0;
};

TEST_F(TrainAndEvaluateWithOwnSaver, EvaluatesAndStopsAtTheSameStepsAfterAnyStop) {
  const testing::LogLines quiet;
  const Steps whole = trained({});
  EXPECT_EQ(whole, (Steps{3, 6, 9, 12, 13}));
  for (std::int64_t step = 1; step < 13; ++step) {
    for (const bool is_kill : {false, true}) {
      EXPECT_EQ(trained({{step, is_kill}}), whole) << step << (is_kill ? " killed" : " interrupted");
      if (step % 3 == 0) continue;
      EXPECT_EQ(trained({{step, is_kill}, {step + 1, false}}), whole) << step << ", then interrupted";
    }
  }
}

TEST_F(TrainAndEvaluateWithOwnSaver, CountsItsOwnPeriodAndNotTheEstimators) {
  const testing::LogLines quiet;
  EXPECT_EQ(trained({{7, false}}, -1, {.save_checkpoints_steps = 5}), (Steps{3, 6, 9, 12, 13}));
}

TEST_F(TrainAndEvaluateWithOwnSaver, CountsFromACheckpointThatWasAskedFor) {
  const testing::LogLines quiet;
  const Steps whole = trained({}, 4);
  EXPECT_EQ(whole, (Steps{3, 4, 7, 10, 13, 14})) << "that of 4 does not count";
  for (std::int64_t step = 6; step < 12; ++step)
    EXPECT_EQ(trained({{step, false}}, 4), whole) << "interrupted after " << step;
}

}  // namespace
}  // namespace trainhook
