// SPDX-License-Identifier: Apache-2.0
/// @file
/// Early stopping of an estimator: which directory is looked at, and which hook a task gets.
#include <trainhook/estimator/early_stopping.hpp>

#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

#include <trainhook/compat/stop_hooks.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>

#include "line_model.hpp"

namespace trainhook {
namespace {

using support::EstimatorTest;
using support::line;
using support::line_model;

class EarlyStopping : public EstimatorTest {
 protected:
  EarlyStopping() : estimator(make(line_model)) {
    estimator.train(line().repeat(), {.steps = 1});
    metrics = estimator.evaluate(line());  // at step 1
  }

  /// How many steps it trains at most five with that hook.
  std::int64_t trains(HookList hooks) {
    const std::int64_t before = step_of(estimator);
    estimator.train(line().repeat(), {.hooks = std::move(hooks), .steps = 5});
    return step_of(estimator) - before;
  }

  Estimator estimator;
  EvalMetrics metrics;
};

TEST_F(EarlyStopping, S36_LooksAtItsOwnEvaluationsAndKeepsNoStopInTheModel) {
  EXPECT_EQ(trains(stop_if_higher_hook(estimator, "mean x", 3)), 1);
  EXPECT_EQ(trains(stop_if_higher_hook(estimator, "mean x", 3, {.min_steps = 2})), 5);
  EXPECT_EQ(trains(stop_if_higher_hook(estimator, "mean x", 4)), 5);
  EXPECT_EQ(trains(stop_if_lower_hook(estimator, "mean x", 4)), 1);
  EXPECT_EQ(trains(stop_if_no_increase_hook(estimator, "mean x", 10)), 5);
}

TEST_F(EarlyStopping, ES08_SeveralHooksStopAtTheFirst) {
  estimator.evaluate(line(), {.name = "other"});
  const StopIfOptions other{.eval_dir = estimator.eval_dir("other")};
  const auto trains_with = [&](std::int64_t max_steps, double threshold) {
    const std::int64_t before = step_of(estimator);
    estimator.train(line().repeat(), {.hooks = {stop_if_no_decrease_hook(estimator, "loss", max_steps, other),
                                                stop_if_lower_hook(estimator, "mean x", threshold, other)},
                                      .steps = 5});
    return step_of(estimator) - before;
  };
  EXPECT_EQ(trains_with(1500, 3), 5);
  EXPECT_EQ(trains_with(1500, 4), 1);
  EXPECT_EQ(trains_with(0, 3), 1);
}

TEST_F(EarlyStopping, ES09_AsksAPredicate) {
  EXPECT_EQ(trains(make_early_stopping_hook(estimator, [] { return false; })), 5);
  EXPECT_EQ(trains(make_early_stopping_hook(estimator, [] { return true; })), 1);
}

TEST_F(EarlyStopping, EH12_TheChiefStopsAtTheStep) {
  const std::shared_ptr<SessionRunHook> hook = make_stop_at_checkpoint_step_hook(estimator, 300);
  EXPECT_NE(dynamic_cast<const StopAtStepHook*>(hook.get()), nullptr);
}

TEST_F(EarlyStopping, EH13_WorkersStopAtTheCheckpoint) {
  const Estimator worker = make(line_model, {.task_type = "worker", .task_id = 1, .num_worker_replicas = 3});
  const std::shared_ptr<SessionRunHook> hook = make_stop_at_checkpoint_step_hook(worker, 300);
  EXPECT_NE(dynamic_cast<const StopAtCheckpointStepHook*>(hook.get()), nullptr);
}

}  // namespace
}  // namespace trainhook
