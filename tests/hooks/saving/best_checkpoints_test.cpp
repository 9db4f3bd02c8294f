// SPDX-License-Identifier: Apache-2.0
/// @file
/// BestCheckpoints: whenever a process is killed, the best checkpoint is there, and the next process leaves no more
/// than it should.
#include <trainhook/hooks/saving/best_checkpoints.hpp>

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

TEST(BestCheckpoints, ACopyIsNeitherRemovedNorWrittenOver) {
  const LogLines log;
  Outside outside;
  ASSERT_TRUE(train(outside, outside.disk));
  for (const char* end : {"index", "data-00000-of-00001"}) {
    outside.disk.write_file(fmt::format("best/model.ckpt-8.{}", end),
                            outside.disk.contents(fmt::format("best/model.ckpt-4.{}", end)));
  }
  const std::string theirs = outside.disk.contents("best/model.ckpt-8.index");
  TrainingDouble training(outside);
  training.add(BestCheckpointHook({.keep = 2, .directory = "best"}));
  training.start();
  EXPECT_EQ(log.count("I BestCheckpointHook: checkpoint best/model.ckpt-8 is not listed in its directory's state file "
                      "and is left alone"),
            1U);
  training.set_step(6);
  const auto train_one = [&](double value) {
    training.services.publish("eval/loss", {training.step() + 1, value});
    training.run();
  };
  train_one(0.9);
  EXPECT_THROW(train_one(0.8), FailedPreconditionError);
  train_one(0.7);
  train_one(0.6);
  EXPECT_EQ(checkpoints_on_disk(outside.disk, "best"),
            (std::vector<std::string>{"best/model.ckpt-8", "best/model.ckpt-9", "best/model.ckpt-10"}));
  EXPECT_EQ(outside.disk.contents("best/model.ckpt-8.index"), theirs);
  training.end();
}

TEST(BestCheckpoints, OneThatCannotBeReadEndsTheStartAndStaysListed) {
  const LogLines log;
  Outside outside;
  ASSERT_TRUE(train(outside, outside.disk));
  const std::string listed = outside.disk.contents("best/checkpoint");
  testing::FaultyFileSystem faulty(outside.disk);
  faulty.set_callback([](testing::FileOperation operation, const std::string& path) {
    if (operation == testing::FileOperation::OpenReadable && path.starts_with("best/model.ckpt-6."))
      throw PermissionDeniedError("cannot open {}", path);
  });
  TrainingDouble training(outside);
  training.add(BestCheckpointHook({.keep = 2, .directory = "best"}));
  training.use_disk(faulty);
  EXPECT_THROW(training.start(), PermissionDeniedError);
  EXPECT_EQ(outside.disk.contents("best/checkpoint"), listed);
}

TEST(BestCheckpoints, ARemovalThatFailsIsLoggedAndTriedAgainAtTheNextSave) {
  LogLines log;
  Outside outside;
  testing::FaultyFileSystem faulty(outside.disk);
  faulty.set_callback([](testing::FileOperation operation, const std::string& path) {
    if (operation == testing::FileOperation::Rename && path.starts_with("best/model.ckpt-1.index."))
      throw PermissionDeniedError("it cannot be renamed");
  });
  TrainingDouble training(outside);
  training.add(BestCheckpointHook({.directory = "best"}));
  training.use_disk(faulty);
  training.start();
  const auto train_one = [&](double value) {
    training.services.publish("eval/loss", {training.step() + 1, value});
    training.run();
  };
  train_one(3);
  train_one(2);
  EXPECT_EQ(log.count("W the old checkpoint best/model.ckpt-1 could not be removed and is tried again"), 1U);
  const std::vector<std::string> both{"best/model.ckpt-1", "best/model.ckpt-2"};
  EXPECT_EQ(checkpoints_on_disk(outside.disk, "best"), both);
  EXPECT_EQ(get_checkpoint_state(outside.disk, "best")->all_model_checkpoint_paths, both)
      << "known after a restart, too";
  faulty.set_callback({});
  train_one(1);
  EXPECT_EQ(checkpoints_on_disk(outside.disk, "best"), std::vector<std::string>{"best/model.ckpt-3"});
  training.end();
}

}  // namespace
}  // namespace trainhook
