// SPDX-License-Identifier: Apache-2.0
/// @file
/// BestCheckpoints: whenever a process is killed, the best checkpoint is there, and the next process leaves no more
/// than it should.
#include <trainhook/hooks/best_checkpoints.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/hooks/best_checkpoint_hook.hpp>
#include <trainhook/testing/faulty_file_system.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

using support::LogLines;
using support::Outside;
using support::TrainingDouble;

const std::vector<double> kValues{5, 3, 4, 2, 2.5, 1};

/// Trains through `kValues` on `disk`; true if nothing failed.
bool train(Outside& outside, FileSystem& disk) {
  TrainingDouble training(outside);
  training.add(BestCheckpointHook({.keep = 2, .directory = "best"}));
  training.use_disk(disk);
  try {
    training.start();
    for (const double value : kValues) {
      training.services.publish("eval/loss", {training.step() + 1, value});
      training.run();
    }
    training.end();
    return true;
  } catch (const Error&) { return false; }
}

TEST(BestCheckpoints, AKillAtAnyCallNeitherLosesTheBestNorLeavesFilesPermanently) {
  const LogLines log;
  Outside whole;
  ASSERT_TRUE(train(whole, whole.disk));
  const std::vector<std::string> wanted = whole.disk.files();
  for (std::uint64_t call = 1;; ++call) {
    Outside outside;
    testing::FaultyFileSystem faulty(outside.disk);
    faulty.fail_from(call);
    const bool is_through = train(outside, faulty);
    if (outside.disk.exists("best/checkpoint")) {  // whatever the state file calls the best is whole
      EXPECT_GT(support::newest_saved_step(outside.disk, "best"), 0) << "killed at call " << call;
    }
    ASSERT_TRUE(train(outside, outside.disk)) << "killed at call " << call;
    EXPECT_EQ(outside.disk.files(), wanted) << "killed at call " << call;
    EXPECT_EQ(latest_checkpoint(outside.disk, "best"), "best/model.ckpt-6") << "killed at call " << call;
    if (is_through) break;
  }
}

/// The lowest value that a process had before it was killed is still there.
TEST(BestCheckpoints, TheBestSurvivesAKillThatIsFollowedByNoBetterValue) {
  const LogLines log;
  for (std::uint64_t call = 1;; ++call) {
    Outside outside;
    {
      TrainingDouble training(outside);
      training.add(BestCheckpointHook({.directory = "best"}));
      training.start();
      training.services.publish("eval/loss", {1, 1.0});
      training.run();
      training.end();
    }
    testing::FaultyFileSystem faulty(outside.disk);
    faulty.fail_from(call);
    bool is_through = true;
    try {
      TrainingDouble training(outside);
      training.add(BestCheckpointHook({.directory = "best"}));
      training.use_disk(faulty);
      training.start();
      training.set_step(1);
      training.services.publish("eval/loss", {2, 0.5});
      training.run();
      training.end();
    } catch (const Error&) { is_through = false; }
    {
      TrainingDouble training(outside);
      auto& best = training.add(BestCheckpointHook({.directory = "best"}));
      training.start();
      ASSERT_EQ(best.best().size(), 1U) << "killed at call " << call;
      EXPECT_EQ(latest_checkpoint(outside.disk, "best"), best.best()[0].prefix) << "killed at call " << call;
      EXPECT_EQ(support::saved_step(outside.disk, best.best()[0].prefix), best.best()[0].step);
      EXPECT_EQ(checkpoints_on_disk(outside.disk, "best").size(), 1U) << "killed at call " << call;
      training.end();
    }
    if (is_through) break;
  }
}

}  // namespace
}  // namespace trainhook
