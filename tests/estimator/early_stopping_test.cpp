// SPDX-License-Identifier: Apache-2.0
/// @file
/// Early stopping: what predicates make of evaluations, which directory an estimator looks at, and which hook a task
/// gets.
#include <trainhook/estimator/early_stopping.hpp>

#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

#include <trainhook/compat/stop_hooks.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "line_model.hpp"

namespace trainhook {
namespace {

using support::EstimatorTest;
using support::line;
using support::line_model;
using testing::LogLines;

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
