// SPDX-License-Identifier: Apache-2.0
/// @file
/// Removing old checkpoints between two runs.
#include <trainhook/checkpoint/prune_checkpoints.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using ::testing::HasSubstr;
using Prefixes = std::vector<std::string>;

class PruneCheckpointsTest : public ::testing::Test {
 protected:
  PruneCheckpointsTest() {
    for (const std::int64_t step : {1, 2, 3, 4}) write("model.ckpt", step);
    list("checkpoint", "model.ckpt", {1, 2, 3, 4});
  }
  void write(const std::string& basename, std::int64_t step) {
    BundleWriter writer(fmt::format("run/{}-{}", basename, step), {.file_system = &disk});
    writer.add("step", Tensor(step));
    writer.finish();
  }
  void list(const std::string& state_file, const std::string& basename, const std::vector<std::int64_t>& steps) {
    CheckpointState state;
    for (const std::int64_t step : steps)
      state.all_model_checkpoint_paths.push_back(fmt::format("run/{}-{}", basename, step));
    state.model_checkpoint_path = state.all_model_checkpoint_paths.back();
    update_checkpoint_state(disk, "run", state, state_file);
  }
  Prefixes prune(int max_to_keep, bool dry_run = false) {
    return prune_checkpoints("run",
                             {.max_to_keep = max_to_keep, .dry_run = dry_run, .file_system = &disk, .clock = &clock});
  }
  Prefixes on_disk() { return checkpoints_on_disk(disk, "run"); }
  Prefixes listed() { return get_checkpoint_state(disk, "run")->all_model_checkpoint_paths; }

  testing::MemoryFileSystem disk;
  testing::ManualClock clock{4'000'000'000.0};  // the disk's files are not from the future
  testing::LogLines log;
};

TEST_F(PruneCheckpointsTest, RemovesTheOldestAndNoLongerListsThem) {
  EXPECT_EQ(prune(2), (Prefixes{"run/model.ckpt-1", "run/model.ckpt-2"}));
  EXPECT_EQ(on_disk(), (Prefixes{"run/model.ckpt-3", "run/model.ckpt-4"}));
  EXPECT_EQ(listed(), on_disk());
  EXPECT_EQ(latest_checkpoint(disk, "run"), "run/model.ckpt-4");
  EXPECT_EQ(prune(2), Prefixes{});
}

TEST_F(PruneCheckpointsTest, ADryRunSaysTheSameAndChangesNothing) {
  for (const std::int64_t step : {3, 4}) write("input.ckpt", step);
  list("checkpoint_input", "input.ckpt", {3, 4});
  const auto before = disk.files();
  const Prefixes said = prune(1, true);
  EXPECT_EQ(said, (Prefixes{"run/model.ckpt-1", "run/model.ckpt-2", "run/model.ckpt-3", "run/input.ckpt-3"}));
  EXPECT_EQ(disk.files(), before);
  EXPECT_EQ(prune(1), said);
}

TEST_F(PruneCheckpointsTest, LeavesAloneWhatTheStateFileDoesNotList) {
  write("copy", 1);
  write("model.ckpt", 0);  // kept for ever
  EXPECT_EQ(prune(3), Prefixes{"run/model.ckpt-1"});
  EXPECT_THAT(on_disk(), ::testing::UnorderedElementsAre("run/copy-1", "run/model.ckpt-0", "run/model.ckpt-2",
                                                         "run/model.ckpt-3", "run/model.ckpt-4"));
}

TEST_F(PruneCheckpointsTest, TakesTheInputThatNoRemainingModelNeeds) {
  for (const std::int64_t step : {1, 2, 4}) write("input.ckpt", step);
  list("checkpoint_input", "input.ckpt", {1, 2, 4});
  const Prefixes expected = {"run/model.ckpt-1", "run/model.ckpt-2", "run/input.ckpt-1"};  // 3 is restored with 2
  EXPECT_EQ(prune(2, true), expected);
  EXPECT_EQ(prune(2), expected);
  EXPECT_EQ(checkpoints_on_disk(disk, "run", "input.ckpt"), (Prefixes{"run/input.ckpt-2", "run/input.ckpt-4"}));
  EXPECT_EQ(get_checkpoint_state(disk, "run", "checkpoint_input")->all_model_checkpoint_paths,
            (Prefixes{"run/input.ckpt-2", "run/input.ckpt-4"}));
}

TEST_F(PruneCheckpointsTest, LeavesTheInputThatAModelOfAnotherNameNeeds) {
  for (const std::int64_t step : {1, 2, 3, 4}) write("input.ckpt", step);
  list("checkpoint_input", "input.ckpt", {1, 2, 3, 4});
  write("other.ckpt", 2);
  EXPECT_EQ(prune(1), (Prefixes{"run/model.ckpt-1", "run/model.ckpt-2", "run/model.ckpt-3", "run/input.ckpt-1",
                                "run/input.ckpt-3"}));
  EXPECT_EQ(checkpoints_on_disk(disk, "run", "input.ckpt"), (Prefixes{"run/input.ckpt-2", "run/input.ckpt-4"}));
}

TEST_F(PruneCheckpointsTest, NeverTheNewest) {
  try {
    prune(0);
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_STREQ(error.what(), "max_to_keep is 0; it must be at least 1, because the newest checkpoint stays");
  }
  EXPECT_EQ(prune(1).size(), 3U);
  EXPECT_EQ(on_disk(), Prefixes{"run/model.ckpt-4"});
}

TEST_F(PruneCheckpointsTest, RefusesIfTheOneCalledNewestIsNotListedLast) {
  disk.write_file("run/checkpoint",
                  "model_checkpoint_path: \"model.ckpt-2\"\nall_model_checkpoint_paths: \"model.ckpt-1\"\n"
                  "all_model_checkpoint_paths: \"model.ckpt-2\"\nall_model_checkpoint_paths: \"model.ckpt-3\"\n");
  for (const bool dry_run : {true, false}) {
    try {
      prune(1, dry_run);
      FAIL();
    } catch (const FailedPreconditionError& error) {
      EXPECT_THAT(error.what(), HasSubstr("state file run/checkpoint calls run/model.ckpt-2 the newest"));
    }
    EXPECT_EQ(on_disk().size(), 4U);
  }
}

TEST_F(PruneCheckpointsTest, RefusesWhileAProcessTrainsThere) {
  {
    const auto held = disk.lock_file("run/.checkpoint_lock");
    EXPECT_EQ(prune(2, true).size(), 2U);
    EXPECT_THROW(prune(2), FailedPreconditionError);
    EXPECT_EQ(on_disk().size(), 4U);
  }
  EXPECT_EQ(prune(2).size(), 2U);
}

TEST_F(PruneCheckpointsTest, NothingIsListedWithoutAStateFile) {
  disk.remove_file("run/checkpoint");
  EXPECT_THROW(prune(2), NotFoundError);
  EXPECT_EQ(on_disk().size(), 4U);
  EXPECT_THROW(prune_checkpoints("none", {.file_system = &disk}), NotFoundError);
}

TEST_F(PruneCheckpointsTest, SaysWhatItRemovedAndWhy) {
  prune(3);
  EXPECT_EQ(log.lines, Prefixes{"I Removed run/model.ckpt-1: max_to_keep is 3."});
}

}  // namespace
}  // namespace trainhook
