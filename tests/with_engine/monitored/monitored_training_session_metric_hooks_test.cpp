// SPDX-License-Identifier: Apache-2.0
/// @file
/// Hooks that act on a metric, in whole runs: killed at any call that reaches the disk and started again, a run ends
/// with the same files as one that was not interrupted.
#include <trainhook/monitored/monitored_training_session.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sanitized.hpp>
#include <small_engine.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/hooks/best_checkpoint_hook.hpp>
#include <trainhook/hooks/checkpoint_input_pipeline_hook.hpp>
#include <trainhook/hooks/row_logger_hook.hpp>
#include <trainhook/hooks/early_stopping_hook.hpp>
#include <trainhook/hooks/evaluation_hook.hpp>
#include <trainhook/hooks/exponential_moving_average_hook.hpp>
#include <trainhook/hooks/reduce_learning_rate_on_plateau_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/data/loop_iterator.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/resume_auditor.hpp>

namespace trainhook {
namespace {

using ::testing::ElementsAre;
using testing::Interruption;
using ::testing::IsEmpty;

constexpr std::uint64_t kSeldom = testing::kIsSanitized ? 4 : 1;

/// A loop whose weight goes past the best value, on an input pipeline.
struct Trainer {
  double weight = 0;
  double rate = 1;
  LoopSession loop;
  Iterator& numbers = make_iterator(loop, Dataset::range(7).repeat(), "numbers");
  testing::ManualClock clock;

  Trainer() {
    loop.variable("weight", weight);
    loop.variable("rate", rate);
  }

  /// An evaluation every other step and at the end: the loss is lowest at a weight of 9.
  [[nodiscard]] EvaluationHook evaluation() {
    return {[this] { return Metrics{{"loss", std::abs(9 - weight)}}; }, {.every_n_steps = 2}};
  }

  /// Nine steps, with a checkpoint every four.
  void train(FileSystem& disk, HookList hooks) {
    hooks.emplace_back(StopAtStepHook({.last_step = 9}));
    hooks.emplace_back(CheckpointInputPipelineHook());
    auto session = monitored_training_session(loop, {.checkpoint_dir = "run",
                                                     .save_checkpoint_steps = 4,
                                                     .log_step_count_steps = 0,
                                                     .hooks = std::move(hooks),
                                                     .file_system = &disk,
                                                     .clock = &clock});
    while (!session.should_stop()) {
      session.run([&] {
        Element element;
        numbers.get_next(element);
        weight += rate * static_cast<double>(element[0].scalar<std::int64_t>());
      });
    }
    session.close();
  }
};

void keep_the_best(FileSystem& disk) {
  Trainer trainer;
  trainer.train(disk, {trainer.evaluation(), BestCheckpointHook({.keep = 2})});
}

TEST(MetricHooks, TheBestCheckpointsAreWholeAndHoldTheInput) {
  const testing::LogLines quiet;
  testing::MemoryFileSystem disk;
  keep_the_best(disk);  // weights 1, 6, 15, 21, 28 after steps 2, 4, ..., 8, and at the end
  EXPECT_EQ(latest_checkpoint(disk, "run/best"), "run/best/model.ckpt-4");
  EXPECT_THAT(checkpoints_on_disk(disk, "run/best"), ElementsAre("run/best/input.ckpt-4", "run/best/model.ckpt-4",
                                                                 "run/best/input.ckpt-6", "run/best/model.ckpt-6"));
  Trainer second;  // goes on from the best one, weight and input
  auto session = monitored_training_session(second.loop, {.checkpoint_dir = "run/best",
                                                          .hooks = {CheckpointInputPipelineHook()},
                                                          .file_system = &disk,
                                                          .clock = &second.clock});
  EXPECT_EQ(second.weight, 6);
  session.run([&] {
    Element element;
    second.numbers.get_next(element);
    EXPECT_EQ(element[0].scalar<std::int64_t>(), 4);
  });
}

TEST(MetricHooks, NoInputIsCommittedWithTheBestAfterItsLeaseIsLost) {
  const testing::LogLines quiet;
  testing::MemoryFileSystem disk;
  testing::FaultyFileSystem no_locks(disk);
  no_locks.fail_from(testing::FileOperation::LockFile, 1, ErrorCode::Unimplemented);
  Trainer trainer;
  const auto lose_lease = [&] {
    disk.write_file("run/best/.checkpoint_lease", "another's");
    return Metrics{{"loss", 1.0}};
  };
  EXPECT_THROW(trainer.train(no_locks, {EvaluationHook(lose_lease, {.every_n_steps = 2}), BestCheckpointHook()}),
               FailedPreconditionError);
  EXPECT_THAT(checkpoints_on_disk(disk, "run/best"), IsEmpty());
}

TEST(MetricHooks, ARunThatIsKilledAnywhereKeepsTheSameBestCheckpoints) {
  const testing::LogLines quiet;
  const auto audit = testing::audit_resume(
      keep_the_best,
      {.interruptions = {Interruption::Kill, Interruption::PowerLoss, Interruption::Error, Interruption::ErrorForGood},
       .every = 9 * kSeldom,
       .power_losses = 1});
  EXPECT_THAT(audit.differences, IsEmpty());
  EXPECT_GT(audit.interruptions, 100U / kSeldom);
}

/// Its log is what it should be whenever the run comes through.
void log_rows(FileSystem& disk) {
  Trainer trainer;
  trainer.loop.value("weight_now", [&] { return trainer.weight; });
  trainer.train(disk,
                {trainer.evaluation(),
                 CsvLoggerHook({"weight_now"}, {.path = "run/log.csv", .every_n_steps = 3, .metrics = {"eval/loss"}}),
                 JsonLinesHook({"weight_now"}, {.path = "logs/log.jsonl", .every_n_steps = 4})});
  EXPECT_EQ(read_file(disk, "run/log.csv"), "step,weight_now,eval/loss\n2,,8\n3,3,\n4,,3\n6,15,6\n8,,12\n9,22,13\n");
  EXPECT_EQ(read_file(disk, "logs/log.jsonl"), "{\"step\":4,\"weight_now\":6}\n{\"step\":8,\"weight_now\":21}\n");
  for (const std::string& name : disk.list_directory("logs"))  // copies: those rows might be another run's
    EXPECT_TRUE(name == "log.jsonl" || (name.starts_with("log.jsonl.") && name.size() < 13)) << name;
}

TEST(MetricHooks, ARunThatIsKilledAnywhereLogsEachRowOnce) {
  const testing::LogLines quiet;
  const auto audit = testing::audit_resume(
      log_rows,
      {.interruptions = {Interruption::Kill, Interruption::PowerLoss}, .every = 5 * kSeldom, .power_losses = 2});
  EXPECT_THAT(audit.differences, IsEmpty());
  EXPECT_GT(audit.interruptions, 100U / kSeldom);
}

TEST(MetricHooks, ARunThatIsEndedByAnErrorLogsEachRowOnce) {  // a row that could not be written may be in the state
  const testing::LogLines quiet;
  const auto audit = testing::audit_resume(log_rows, {.interruptions = {Interruption::Error}, .every = 3 * kSeldom});
  EXPECT_GT(audit.interruptions, 60U / kSeldom);
}

/// The rate is halved twice, after steps 6 and 8; the average is that of the weight.
void adapt(FileSystem& disk) {
  Trainer trainer;
  const auto average = make_hook<ExponentialMovingAverageHook>({.decay = 0.5, .variables = {"weight"}});
  trainer.train(disk, {trainer.evaluation(), average,
                       ReduceLearningRateOnPlateauHook({.learning_rate = "rate", .factor = 0.5, .patience = 1}),
                       EarlyStoppingHook({.patience = 9}),
                       EvaluationHook(
                           [&] {
                             const auto swapped = average->use_averages();
                             return Metrics{{"average", trainer.weight}};
                           },
                           {.every_n_steps = 3, .name = "swapped"})});
  EXPECT_EQ(trainer.rate, 0.25);
}

TEST(MetricHooks, ARunThatIsKilledAnywhereHasTheSameRatesAndAverages) {
  const testing::LogLines quiet;
  const auto audit = testing::audit_resume(
      adapt, {.interruptions = {Interruption::Kill, Interruption::PowerLoss}, .every = 7 * kSeldom});
  EXPECT_THAT(audit.differences, IsEmpty());
  EXPECT_GT(audit.interruptions, 80U / kSeldom);
}

TEST(MetricHooks, ActOnTheVariablesOfAGraphToo) {
  const testing::LogLines quiet;
  testing::MemoryFileSystem disk;
  Graph graph;
  const Variable step = create_global_step(graph);
  const Variable rate = make_variable("learning_rate", constant(graph, Tensor(1.0F), "rate/initial"));
  const Output train = assign_add(step, constant(graph, Tensor(std::int64_t{1}), "one"));
  const auto average = make_hook<ExponentialMovingAverageHook>({.decay = 0.5});
  auto session = monitored_training_session<support::SmallEngine>(
      graph, {.checkpoint_dir = "run",
              .hooks = {StopAtStepHook({.last_step = 3}),
                        EvaluationHook(
                            [] {
                              return Metrics{{"loss", 1}};
                            },
                            {.every_n_steps = 1}),
                        ReduceLearningRateOnPlateauHook({.factor = 0.5, .patience = 1}), average, BestCheckpointHook()},
              .file_system = &disk});
  while (!session.should_stop()) static_cast<void>(session.run(train));
  EXPECT_EQ(session.raw_session().run(rate).scalar<float>(), 0.25F);
  EXPECT_EQ(average->averages()[0].tensor.scalar<float>(), 0.5F);  // of 1, 1, 0.5, 0.25
  session.close();
  EXPECT_EQ(latest_checkpoint(disk, "run/best"), "run/best/model.ckpt-1");
  EXPECT_TRUE(disk.exists("run/best/model.ckpt-1.meta"));
}

}  // namespace
}  // namespace trainhook
