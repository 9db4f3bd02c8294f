// SPDX-License-Identifier: Apache-2.0
/// @file
/// The option `keep` of a training session: which checkpoints a run leaves, killed or not, with evaluations that tell
/// the best, and beside other hooks that have checkpoints.
#include <trainhook/monitored/monitored_training_session.hpp>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>
#include <trainhook/hooks/best_checkpoint_hook.hpp>
#include <trainhook/hooks/evaluation_hook.hpp>
#include <trainhook/hooks/scaffold.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using Prefixes = std::vector<std::string>;

/// Trains to step 40; its loss is lowest at step 20. Saves every five steps, and evaluates then. Or until it is killed
/// after so many runs.
void train(testing::MemoryFileSystem& disk, HookList hooks, int killed_after = -1, bool is_async = false) {
  struct Killed {};
  testing::FaultyFileSystem faulty(disk);
  LoopSession loop;
  float weight = 0;
  loop.variable("weight", weight);
  hooks.emplace_back(StopAtStepHook({.last_step = 40}));
  hooks.emplace_back(EvaluationHook(
      [&loop] {
        return Metrics{{"loss", std::abs(static_cast<double>(loop.global_step()) - 20)}};
      },
      {.every_n_steps = 5}));
  if (is_async)
    hooks.emplace_back(AsyncCheckpointSaverHook({.save_steps = 5, .align_steps = true, .overlap = SaveOverlap::Wait}));
  MonitoredTrainingSessionOptions options{.checkpoint_dir = "run",
                                          .keep = {LatestN(2), EveryNSteps(30), BestN(2, "eval/loss")},
                                          .log_step_count_steps = 0,
                                          .hooks = std::move(hooks),
                                          .file_system = &faulty};
  if (!is_async) options.save_checkpoint_steps = 5;
  try {
    auto session = monitored_training_session(loop, options);
    for (int run = 0; !session.should_stop(); ++run) {
      if (run == killed_after) {
        faulty.fail_from(1);
        throw Killed();
      }
      session.run([&] { weight += 1; });
    }
    session.close();
  } catch (const Killed&) {}
}

const Prefixes kKept{"run/model.ckpt-0",  "run/model.ckpt-15", "run/model.ckpt-20",
                     "run/model.ckpt-30", "run/model.ckpt-35", "run/model.ckpt-40"};

TEST(Keep, ARunLeavesWhatItsRulesKeep) {
  const testing::LogLines quiet;
  for (const bool is_async : {false, true}) {
    testing::MemoryFileSystem disk;
    train(disk, {}, -1, is_async);
    EXPECT_EQ(checkpoints_on_disk(disk, "run"), kKept);
  }
}

TEST(Keep, AKilledRunLeavesTheSame) {
  const testing::LogLines quiet;
  for (int killed_after = 1; killed_after < 40; killed_after += 3) {
    testing::MemoryFileSystem disk;
    train(disk, {}, killed_after);
    train(disk, {});
    EXPECT_EQ(checkpoints_on_disk(disk, "run"), kKept) << "killed after " << killed_after;
  }
}

TEST(Keep, ABestCheckpointHookHasItsOwn) {
  const testing::LogLines quiet;
  testing::MemoryFileSystem disk;
  train(disk, {BestCheckpointHook({.metric = "eval/loss"})});
  EXPECT_EQ(checkpoints_on_disk(disk, "run"), kKept);
  EXPECT_EQ(checkpoints_on_disk(disk, "run/best"), Prefixes{"run/best/model.ckpt-20"});
}

TEST(Keep, IsRefusedBesideOtherWaysToSayIt) {
  testing::MemoryFileSystem disk;
  LoopSession loop;
  EXPECT_THROW(static_cast<void>(monitored_training_session(
                   loop, {.checkpoint_dir = "run", .max_to_keep = 3, .keep = {LatestN(3)}, .file_system = &disk})),
               InvalidArgumentError);
  LoopSession other;
  EXPECT_THROW(static_cast<void>(monitored_training_session(other, {.checkpoint_dir = "run",
                                                                    .scaffold = std::make_shared<Scaffold>(),
                                                                    .keep = {LatestN(3)},
                                                                    .file_system = &disk})),
               InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
