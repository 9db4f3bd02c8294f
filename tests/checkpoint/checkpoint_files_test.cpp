// SPDX-License-Identifier: Apache-2.0
/// @file
/// Whether checkpoints exist, since when, and that a removed one is gone.
#include <trainhook/checkpoint/checkpoint_files.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_cleanup.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/scripted_session.hpp>

namespace trainhook {
namespace {

class CheckpointFilesTest : public ::testing::Test {
 protected:
  std::string save(const std::string& path, SaverOptions options = {}) {
    options.file_system = &disk;
    options.clock = &clock;
    testing::ScriptedSession session(script);
    return Saver(std::move(options)).save(session, {.save_path = path});
  }
  CheckpointFilesTest() { script.variable("weights", Tensor::of<float>({1, 2, 3})); }

  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  testing::Script script;
};

TEST_F(CheckpointFilesTest, K10_ExistsOnceItIsSavedInOneFileOrSeveral) {
  for (const bool sharded : {false, true}) {
    const std::string prefix = sharded ? "run/several" : "run/one";
    EXPECT_FALSE(checkpoint_exists(disk, prefix));
    save(prefix, {.sharded = sharded, .shard_bytes = 1});
    EXPECT_TRUE(checkpoint_exists(disk, prefix));
    EXPECT_TRUE(checkpoint_exists(disk, latest_checkpoint(disk, "run").value()));
  }
}

TEST_F(CheckpointFilesTest, K11_TellsWhenEachWasWritten) {
  disk.set_time(1'700'000'000);
  save("run/m-1");
  disk.set_time(1'700'000'002.5);
  save("run/m-2");
  EXPECT_EQ(get_checkpoint_mtimes(disk, {"run/m-1", "run/none", "run/m-2"}),
            (std::vector<double>{1'700'000'000, 1'700'000'002.5}));
}

TEST_F(CheckpointFilesTest, K12_ARemovedOneDoesNotExist) {
  for (const bool sharded : {false, true}) {
    save("run/m", {.sharded = sharded, .shard_bytes = 1});
    EXPECT_TRUE(checkpoint_exists(disk, "run/m"));
    remove_checkpoint(disk, "run/m");
    EXPECT_FALSE(checkpoint_exists(disk, "run/m"));
    EXPECT_EQ(disk.files(), std::vector<std::string>{"run/checkpoint"});
  }
}

}  // namespace
}  // namespace trainhook
