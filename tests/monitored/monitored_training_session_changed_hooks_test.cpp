// SPDX-License-Identifier: Apache-2.0
/// @file
/// A run that goes on with another list of hooks: each has its own state, and none that of another.
#include <trainhook/monitored/monitored_training_session.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/hooks/row_logger_hook.hpp>
#include <trainhook/hooks/early_stopping_hook.hpp>
#include <trainhook/hooks/evaluation_hook.hpp>
#include <trainhook/hooks/learning_rate_warm_up_hook.hpp>
#include <trainhook/hooks/logging_tensor_hook.hpp>
#include <trainhook/hooks/reduce_learning_rate_on_plateau_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using HookPointers = std::vector<std::shared_ptr<SessionRunHook>>;

/// Trains, with metrics that become better at every step; each call is a process.
struct Training {
  testing::MemoryFileSystem disk;
  double rate_a = 8;
  double rate_b = 80;

  /// Returns the step at which it ended.
  std::int64_t to(std::int64_t last_step, const HookPointers& hooks) {
    LoopSession loop;
    loop.variable("rate_a", rate_a);
    loop.variable("rate_b", rate_b);
    loop.value("twice", [&] { return 2 * loop.global_step(); });
    loop.value("thrice", [&] { return 3 * loop.global_step(); });
    const auto evaluate = [&] {
      const auto step = static_cast<double>(loop.global_step());
      return Metrics{{"loss", 100 - step}, {"accuracy", step / 1000}};
    };
    MonitoredTrainingSessionOptions options{.checkpoint_dir = "run", .file_system = &disk};
    options.save_checkpoint_steps = 100;
    options.save_summaries_steps = 0;
    options.log_step_count_steps = 0;
    options.hooks = {StopAtStepHook({.last_step = last_step}), EvaluationHook(evaluate, {.every_n_steps = 1})};
    for (const auto& hook : hooks) options.hooks.emplace_back(hook);
    auto session = monitored_training_session(loop, options);
    run_until_stop(session, [&] { session.run([] {}); });
    return loop.global_step();
  }
};

std::shared_ptr<EarlyStoppingHook> stop_by_loss() {
  return make_hook<EarlyStoppingHook>({.metric = "eval/loss", .patience = 3});
}
std::shared_ptr<EarlyStoppingHook> stop_by_accuracy() {
  return make_hook<EarlyStoppingHook>({.metric = "eval/accuracy", .better = Better::Higher, .patience = 3});
}

TEST(ChangedHooks, SwappedOnesJudgeByTheirOwnBest) {
  Training training;
  ASSERT_EQ(training.to(6, {stop_by_loss(), stop_by_accuracy()}), 6);
  const auto loss = stop_by_loss();
  const auto accuracy = stop_by_accuracy();
  EXPECT_EQ(training.to(20, {accuracy, loss}), 20);
  EXPECT_EQ(loss->best(), 80);
  EXPECT_EQ(accuracy->best(), 0.02);
}

TEST(ChangedHooks, OneThatIsLeftHasItsOwnStateAndTheOthersIsKept) {
  Training training;
  testing::LogLines log;
  ASSERT_EQ(training.to(6, {stop_by_accuracy(), stop_by_loss()}), 6);
  EXPECT_EQ(training.to(12, {stop_by_loss()}), 12);
  EXPECT_EQ(log.count("W the checkpoint has state of a hook 'EarlyStoppingHook(eval:accuracy,higher)'"), 1U);
  const auto accuracy = stop_by_accuracy();
  EXPECT_EQ(training.to(12, {accuracy}), 12);  // sees nothing new
  EXPECT_EQ(accuracy->best(), 0.006);
}

TEST(ChangedHooks, AnotherMetricStartsFresh) {
  Training training;
  ASSERT_EQ(training.to(6, {stop_by_accuracy()}), 6);
  const auto loss = stop_by_loss();
  EXPECT_EQ(training.to(20, {loss}), 20);
  EXPECT_EQ(loss->best(), 80);
}

TEST(ChangedHooks, RatesFallByTheirOwnMetric) {
  const auto lower = [](const std::string& metric, Better better, const std::string& rate) {
    return make_hook<ReduceLearningRateOnPlateauHook>(
        {.metric = metric, .better = better, .learning_rate = rate, .factor = 0.5, .patience = 2});
  };
  Training training;
  training.to(6, {lower("eval/loss", Better::Lower, "rate_a"), lower("eval/accuracy", Better::Higher, "rate_b")});
  training.to(20, {lower("eval/accuracy", Better::Higher, "rate_b"), lower("eval/loss", Better::Lower, "rate_a")});
  EXPECT_EQ(training.rate_a, 8);
  EXPECT_EQ(training.rate_b, 80);
}

TEST(ChangedHooks, RatesRiseToTheirOwnTarget) {
  const auto raise = [](const std::string& rate) {
    return make_hook<LearningRateWarmUpHook>({.steps = 8, .learning_rate = rate});
  };
  Training training;
  training.to(4, {raise("rate_a"), raise("rate_b")});
  EXPECT_EQ(training.rate_a, 5);
  training.to(8, {raise("rate_b"), raise("rate_a")});
  EXPECT_EQ(training.rate_a, 8);
  EXPECT_EQ(training.rate_b, 80);
}

TEST(ChangedHooks, FilesHaveTheirOwnRows) {
  const auto rows = [](const std::string& path, const std::string& value) {
    return std::make_shared<CsvLoggerHook>(FetchRefs(value), CsvLoggerHook::Options{.path = path, .every_n_steps = 1});
  };
  Training training;
  training.to(2, {rows("run/a.csv", "twice"), rows("run/b.csv", "thrice")});
  training.to(3, {rows("run/b.csv", "thrice"), rows("run/a.csv", "twice")});
  EXPECT_EQ(training.disk.contents("run/a.csv"), "step,twice\n1,2\n2,4\n3,6\n");
  EXPECT_EQ(training.disk.contents("run/b.csv"), "step,thrice\n1,3\n2,6\n3,9\n");
}

TEST(ChangedHooks, LogLinesComeAtTheirOwnSteps) {
  const auto line = [](const std::string& value, std::int64_t period) {
    return std::make_shared<LoggingTensorHook>(FetchRefs(value), LoggingTensorHook::Options{.every_n_iter = period});
  };
  Training training;
  training.to(3, {line("twice", 2), line("thrice", 3)});
  testing::LogLines log;
  training.to(7, {line("thrice", 3), line("twice", 2)});
  EXPECT_EQ(log.count("I twice = 10"), 1U) << "after runs 0 and 2";
  EXPECT_EQ(log.count("I thrice = 12"), 1U) << "after run 0";
}

}  // namespace
}  // namespace trainhook
