// SPDX-License-Identifier: Apache-2.0
/// @file
/// Which checkpoints stay in a directory, over restarts and crashes.
#include <trainhook/checkpoint/retention.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle_writer.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>

namespace trainhook {
namespace {

using Prefixes = std::vector<std::string>;

class RetentionTest : public ::testing::Test {
 protected:
  std::string write(std::int64_t step) {
    const std::string prefix = fmt::format("run/model.ckpt-{}", step);
    BundleWriter writer(prefix, {.file_system = &disk});
    writer.add("step", Tensor(step));
    writer.finish();
    return prefix;
  }
  detail::Retention open(detail::RetentionPolicy policy) {
    return detail::Retention(disk, "run/model.ckpt", "checkpoint", policy);
  }
  void save(detail::Retention& retention, std::int64_t step, double time) { retention.add(write(step), time); }
  Prefixes on_disk() { return checkpoints_on_disk(disk, "run"); }
  Prefixes listed() { return get_checkpoint_state(disk, "run")->all_model_checkpoint_paths; }

  testing::MemoryFileSystem disk;
};

TEST_F(RetentionTest, KeepsTheNewestAndRemovesTheRest) {
  detail::Retention retention = open({.max_to_keep = 2});
  for (std::int64_t step : {1, 2, 3, 4}) save(retention, step, 100.0 + static_cast<double>(step));
  EXPECT_EQ(on_disk(), (Prefixes{"run/model.ckpt-3", "run/model.ckpt-4"}));
  EXPECT_EQ(listed(), (Prefixes{"run/model.ckpt-3", "run/model.ckpt-4"}));
  EXPECT_EQ(get_checkpoint_state(disk, "run")->all_model_checkpoint_timestamps, (std::vector<double>{103, 104}));
}

TEST_F(RetentionTest, ZeroKeepsAllAndListsTheNewest) {
  detail::Retention retention = open({.max_to_keep = 0});
  for (std::int64_t step = 1; step <= 9; ++step) save(retention, step, 0);
  EXPECT_EQ(on_disk().size(), 9U);
  EXPECT_EQ(listed(), Prefixes{"run/model.ckpt-9"});
  EXPECT_EQ(retention.prefixes(), Prefixes{});
}

TEST_F(RetentionTest, KnowsAfterARestartWhatAnEarlierProcessSaved) {
  {
    detail::Retention earlier = open({.max_to_keep = 5});
    for (std::int64_t step : {1, 2, 3, 4, 5}) save(earlier, step, 0);
  }
  detail::Retention retention = open({.max_to_keep = 5});
  save(retention, 6, 0);
  EXPECT_EQ(on_disk(), (Prefixes{"run/model.ckpt-2", "run/model.ckpt-3", "run/model.ckpt-4", "run/model.ckpt-5",
                                 "run/model.ckpt-6"}));
}

TEST_F(RetentionTest, S31_AReducedNumberShrinksTheDirectoryInOneSweep) {
  {
    detail::Retention earlier = open({.max_to_keep = 5});
    for (std::int64_t step : {1, 2, 3, 4, 5}) save(earlier, step, 0);
  }
  detail::Retention retention = open({.max_to_keep = 2});
  save(retention, 6, 0);
  EXPECT_EQ(on_disk(), (Prefixes{"run/model.ckpt-5", "run/model.ckpt-6"}));
}

TEST_F(RetentionTest, FindsWhatACrashBetweenStateFileAndRemovalLeft) {
  {
    detail::Retention earlier = open({.max_to_keep = 2});
    for (std::int64_t step : {2, 3}) save(earlier, step, 0);
    write(1);  // dropped from the list, not yet removed
  }
  detail::Retention retention = open({.max_to_keep = 2});
  save(retention, 4, 0);
  EXPECT_EQ(on_disk(), (Prefixes{"run/model.ckpt-3", "run/model.ckpt-4"}));
}

TEST_F(RetentionTest, LeavesNewerUnlistedOnesAlone) {
  {
    detail::Retention earlier = open({.max_to_keep = 2});
    save(earlier, 10, 0);
    write(50);
  }
  detail::Retention retention = open({.max_to_keep = 1});
  save(retention, 11, 0);
  EXPECT_EQ(on_disk(), (Prefixes{"run/model.ckpt-11", "run/model.ckpt-50"}));
}

TEST_F(RetentionTest, KeepsOneEverySoManyHoursForEver) {
  detail::Retention retention = open({.max_to_keep = 1, .keep_checkpoint_every_n_hours = 2});
  for (std::int64_t hour : {0, 1, 2, 3, 4, 5}) save(retention, hour, static_cast<double>(hour) * 3600);
  EXPECT_EQ(on_disk(), (Prefixes{"run/model.ckpt-2", "run/model.ckpt-4", "run/model.ckpt-5"}));
  EXPECT_EQ(listed(), (Prefixes{"run/model.ckpt-5"}));
}

TEST_F(RetentionTest, S31_KeepsOneEverySoManyHoursOverARestartToo) {
  for (std::int64_t hour : {0, 1, 2, 3, 4, 5}) {
    detail::Retention retention = open({.max_to_keep = 1, .keep_checkpoint_every_n_hours = 2});
    save(retention, hour, static_cast<double>(hour) * 3600);
  }
  EXPECT_EQ(on_disk(), (Prefixes{"run/model.ckpt-2", "run/model.ckpt-4", "run/model.ckpt-5"}));
}

TEST_F(RetentionTest, S31_WithoutATimeInTheStateFileAgesAreThoseOfTheFiles) {
  disk.set_time(3 * 3600);
  update_checkpoint_state(disk, "run", {.model_checkpoint_path = write(1), .last_preserved_timestamp = 0.0});
  detail::Retention retention = open({.max_to_keep = 1, .keep_checkpoint_every_n_hours = 2});
  save(retention, 2, 4 * 3600);
  EXPECT_EQ(on_disk(), (Prefixes{"run/model.ckpt-1", "run/model.ckpt-2"})) << "the first stays for ever";
  EXPECT_EQ(get_checkpoint_state(disk, "run")->last_preserved_timestamp, 3 * 3600);
}

TEST_F(RetentionTest, S31_ARemovalThatFailsIsLoggedAndTriedAgainAtTheNextSave) {
  std::string log;
  const LogSink before = set_log_sink([&](LogLevel, std::string_view line) { log += line; });
  testing::FaultyFileSystem faulty(disk);
  detail::Retention retention(faulty, "run/model.ckpt", "checkpoint", {.max_to_keep = 1});
  retention.add(write(1), 1);
  faulty.fail_at(testing::FileOperation::RemoveFile, 1, ErrorCode::PermissionDenied);
  retention.add(write(2), 2);
  EXPECT_NE(log.find("run/model.ckpt-1 could not be removed"), std::string::npos) << log;
  EXPECT_EQ(on_disk(), (Prefixes{"run/model.ckpt-1", "run/model.ckpt-2"}));
  EXPECT_EQ(listed(), Prefixes{"run/model.ckpt-2"});
  retention.add(write(3), 3);
  EXPECT_EQ(on_disk(), Prefixes{"run/model.ckpt-3"});
  set_log_sink(before);
}

TEST_F(RetentionTest, SavingTheSamePrefixAgainMovesItToTheEnd) {
  detail::Retention retention = open({.max_to_keep = 3});
  for (std::int64_t step : {1, 2, 3}) save(retention, step, 0);
  retention.add("run/model.ckpt-1", 9);
  EXPECT_EQ(listed(), (Prefixes{"run/model.ckpt-2", "run/model.ckpt-3", "run/model.ckpt-1"}));
}

TEST_F(RetentionTest, ReplaceTakesOnlyWhatIsOnDisk) {
  for (std::int64_t step : {1, 3}) write(step);
  detail::Retention retention = open({.max_to_keep = 5});
  retention.replace({"run/model.ckpt-1", "run/model.ckpt-2", "run/model.ckpt-3"});
  EXPECT_EQ(retention.prefixes(), (Prefixes{"run/model.ckpt-1", "run/model.ckpt-3"}));
}

}  // namespace
}  // namespace trainhook
