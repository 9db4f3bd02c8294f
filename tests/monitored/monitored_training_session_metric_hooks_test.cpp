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

#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/hooks/best_checkpoint_hook.hpp>
#include <trainhook/hooks/checkpoint_input_pipeline_hook.hpp>
#include <trainhook/hooks/evaluation_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_iterator.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/resume_auditor.hpp>

namespace trainhook {
namespace {

using ::testing::ElementsAre;
using testing::Interruption;
using ::testing::IsEmpty;

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

TEST(MetricHooks, ARunThatIsKilledAnywhereKeepsTheSameBestCheckpoints) {
  const testing::LogLines quiet;
  const auto audit = testing::audit_resume(
      keep_the_best,
      {.interruptions = {Interruption::Kill, Interruption::PowerLoss, Interruption::Error, Interruption::ErrorForGood},
       .every = 2,
       .power_losses = 1});
  EXPECT_THAT(audit.differences, IsEmpty());
  EXPECT_GT(audit.interruptions, 500U);
}

}  // namespace
}  // namespace trainhook
