// SPDX-License-Identifier: Apache-2.0
/// @file
/// Which checkpoints stay in a directory, over restarts and crashes.
#include <trainhook/checkpoint/checkpoint_directory.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using Prefixes = std::vector<std::string>;

class RetentionTest : public ::testing::Test {
 protected:
  std::string write(std::int64_t step, const std::string& directory = "run",
                    const std::string& basename = "model.ckpt") {
    const std::string prefix = fmt::format("{}/{}-{}", directory, basename, step);
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

TEST_F(RetentionTest, ACheckpointIsListedUntilItIsRemoved) {
  detail::Retention retention = open({.max_to_keep = 2});
  for (std::int64_t step : {1, 2}) save(retention, step, 0);
  testing::FaultyFileSystem watched(disk);
  std::vector<Prefixes> lists;
  watched.set_callback([&](testing::FileOperation operation, const std::string& path) {
    if (operation == testing::FileOperation::RemoveFile && path.ends_with("data-00000-of-00001"))
      lists.push_back(listed());
  });
  detail::Retention watching(watched, "run/model.ckpt", "checkpoint", {.max_to_keep = 2});
  watching.add(write(3), 0);
  EXPECT_EQ(lists, std::vector<Prefixes>{(Prefixes{"run/model.ckpt-1", "run/model.ckpt-2", "run/model.ckpt-3"})})
      << "a process that is killed here knows after its start what is its own";
  EXPECT_EQ(listed(), (Prefixes{"run/model.ckpt-2", "run/model.ckpt-3"}));
}

TEST_F(RetentionTest, WhatIsNotListedIsNotItsOwn) {
  {
    detail::Retention earlier = open({.max_to_keep = 2});
    for (std::int64_t step : {2, 3}) save(earlier, step, 0);
    write(1);  // a user's copy
  }
  detail::Retention retention = open({.max_to_keep = 2});
  save(retention, 4, 0);
  EXPECT_EQ(on_disk(), (Prefixes{"run/model.ckpt-1", "run/model.ckpt-3", "run/model.ckpt-4"}));
  EXPECT_EQ(listed(), (Prefixes{"run/model.ckpt-3", "run/model.ckpt-4"}));
}

TEST_F(RetentionTest, ACopyUnderAHigherNumberIsNeitherRemovedNorListedNorWrittenOver) {
  const testing::LogLines log;
  {
    detail::Retention earlier = open({.max_to_keep = 1});
    save(earlier, 10, 100);
  }
  disk.set_time(200);
  write(50);
  const std::string theirs = disk.contents("run/model.ckpt-50.index");
  disk.set_time(300);
  detail::Retention retention = open({.max_to_keep = 1});
  EXPECT_EQ(log.count("W checkpoint run/model.ckpt-50 is not listed in run/checkpoint and is left alone; a save of its "
                      "step is an error, so move it away"),
            1U);
  retention.begin("run/model.ckpt-20");
  save(retention, 20, 300);
  try {
    retention.begin("run/model.ckpt-50");
    ADD_FAILURE() << "it would be written over";
  } catch (const FailedPreconditionError& error) {
    EXPECT_STREQ(error.what(),
                 "run/model.ckpt-50 is not written over: files of that name are there, and run/checkpoint does not "
                 "list them, so they may be a copy. Move them away, or save into another directory");
  }
  retention.begin("run/model.ckpt-60");
  save(retention, 60, 300);
  EXPECT_EQ(on_disk(), (Prefixes{"run/model.ckpt-50", "run/model.ckpt-60"}));
  EXPECT_EQ(listed(), Prefixes{"run/model.ckpt-60"});
  EXPECT_EQ(disk.contents("run/model.ckpt-50.index"), theirs);
}

TEST_F(RetentionTest, ARunThatWentBackSavesAgainWhatItHadKept) {
  const auto saves = [&](std::initializer_list<std::int64_t> steps) {
    detail::Retention all = open({.max_to_keep = 0});
    for (const std::int64_t step : steps) {
      const std::string prefix = fmt::format("run/model.ckpt-{}", step);
      all.begin(prefix);
      if (!checkpoint_exists(disk, prefix)) write(step);
      all.add(prefix, 0);
    }
  };
  saves({2, 4, 6});
  saves({3, 4});  // 6 and 4 were damaged
  saves({5, 6, 7});
  write(8);
  testing::expect_error<FailedPreconditionError>({"run/model.ckpt-8"}, [&] { saves({8}); });
  EXPECT_EQ(on_disk().size(), 7U);
}

TEST_F(RetentionTest, WhatAMarkNamesWasSavedBeforeAKill) {
  {
    detail::Retention earlier = open({.max_to_keep = 1});
    save(earlier, 10, 100);
    earlier.begin("run/model.ckpt-5");  // after a step back
    write(5);
  }
  detail::Retention retention = open({.max_to_keep = 1});
  retention.begin("run/model.ckpt-5");
  save(retention, 60, 300);
  EXPECT_EQ(on_disk(), (Prefixes{"run/model.ckpt-60"}));
  for (const std::string& path : disk.files()) EXPECT_EQ(path.find("tempstate"), std::string::npos) << path;
}

TEST_F(RetentionTest, AMarkedOneThatCannotBeReadIsAnErrorAndOneThatIsDamagedIsNot) {
  {
    detail::Retention earlier = open({.max_to_keep = 1});
    save(earlier, 10, 100);
    earlier.begin("run/model.ckpt-20");
    write(20);
  }
  const testing::LogLines log;
  testing::FaultyFileSystem faulty(disk);
  faulty.set_callback([](testing::FileOperation operation, const std::string& path) {
    if (operation == testing::FileOperation::OpenReadable && path == "run/model.ckpt-20.index")
      throw ResourceExhaustedError("too many open files");
  });
  EXPECT_THROW(detail::Retention(faulty, "run/model.ckpt", "checkpoint", {.max_to_keep = 1}), ResourceExhaustedError);
  disk.write_file("run/model.ckpt-20.index", "damaged");
  detail::Retention retention = open({.max_to_keep = 1});
  EXPECT_EQ(retention.prefixes(), Prefixes{"run/model.ckpt-10"});
  EXPECT_EQ(log.count(""), 0U);
  retention.begin("run/model.ckpt-20");  // the mark says whose it is
}

TEST_F(RetentionTest, DataWithoutAnIndexAreNotWrittenOver) {
  detail::Retention retention = open({.max_to_keep = 1});
  save(retention, 10, 100);
  disk.write_file("run/model.ckpt-20.data-00000-of-00002", "a copy in progress");
  EXPECT_THROW(retention.begin("run/model.ckpt-20"), FailedPreconditionError);
  EXPECT_THROW(open({}).begin("run/model.ckpt-20"), FailedPreconditionError) << "after a restart, too";
}

TEST_F(RetentionTest, ANameWithoutAStepIsTheUsersChoice) {
  detail::Retention retention = open({.max_to_keep = 1});
  save(retention, 10, 100);
  disk.write_file("run/model.ckpt.index", "an older one");
  retention.begin("run/model.ckpt");
}

/// A state file of a version that marked only first checkpoints, of TensorFlow or of a user.
TEST_F(RetentionTest, BeforeMarksAWholeOneThatIsNewerByStepAndTimeWasSavedBeforeAKill) {
  const auto kept_after = [this](std::int64_t step, double time, bool whole) {
    disk.set_time(100);
    write(10);
    update_checkpoint_state(disk, "run", {.model_checkpoint_path = "run/model.ckpt-10"});
    disk.set_time(time);
    write(step);
    if (!whole) disk.remove_file(fmt::format("run/model.ckpt-{}.data-00000-of-00001", step));
    disk.set_time(300);
    detail::Retention retention = open({.max_to_keep = 1});
    retention.begin(fmt::format("run/model.ckpt-{}", step));  // no error, as before
    save(retention, 60, 300);
    Prefixes left = on_disk();
    for (const std::string& path : disk.files()) disk.remove_file(path);
    return left;
  };
  const Prefixes all_its_own{"run/model.ckpt-60"};
  EXPECT_EQ(kept_after(50, 200, true), all_its_own);
  EXPECT_EQ(kept_after(50, 100, true), (Prefixes{"run/model.ckpt-50", "run/model.ckpt-60"})) << "not newer by time";
  EXPECT_EQ(kept_after(5, 200, true), (Prefixes{"run/model.ckpt-5", "run/model.ckpt-60"})) << "not newer by step";
  EXPECT_EQ(kept_after(50, 200, false), (Prefixes{"run/model.ckpt-50", "run/model.ckpt-60"})) << "not whole";
}

TEST_F(RetentionTest, WhatEarlierPoliciesKeptStays) {
  {
    detail::Retention all = open({.max_to_keep = 0});
    for (std::int64_t step = 1; step <= 21; ++step) save(all, step, 0);
  }
  detail::Retention five = open({.max_to_keep = 5});
  for (std::int64_t step = 22; step <= 30; ++step) save(five, step, 0);
  EXPECT_EQ(on_disk().size(), 25U) << "1 to 20, and the last five: of max_to_keep = 0 only the newest was listed";
  {
    detail::Retention hourly = open({.max_to_keep = 1, .keep_checkpoint_every_n_hours = 1});
    for (std::int64_t step = 31; step <= 36; ++step) save(hourly, step, static_cast<double>(step) * 3600);
  }
  const std::size_t before = on_disk().size();
  detail::Retention usual = open({.max_to_keep = 1});
  save(usual, 40, 40 * 3600);
  EXPECT_EQ(on_disk().size(), before) << "one more, and step 36 less";
}

TEST_F(RetentionTest, ForeignPathsAreNeverRemovedNorListedAgainAndSaidOnce) {
  const std::string elsewhere = write(7, "original");
  const std::string other = write(8, "run", "best");
  update_checkpoint_state(
      disk, "run",
      {.model_checkpoint_path = write(9),
       .all_model_checkpoint_paths = {"/original/model.ckpt-7", other, "/nowhere/model.ckpt-5", "run/model.ckpt-9"}},
      kLatestFilename, false);
  testing::LogLines log;
  detail::Retention retention = open({.max_to_keep = 1});
  EXPECT_EQ(retention.prefixes(), Prefixes{"run/model.ckpt-9"});
  for (std::int64_t step : {10, 11}) save(retention, step, 0);
  EXPECT_TRUE(checkpoint_exists(disk, elsewhere));
  EXPECT_EQ(on_disk(), (Prefixes{"run/best-8", "run/model.ckpt-11"}));
  EXPECT_EQ(listed(), Prefixes{"run/model.ckpt-11"});
  EXPECT_EQ(log.count("lists 2 checkpoints that are not this saver's"), 1U);
  static_cast<void>(open({.max_to_keep = 1}));
  EXPECT_EQ(log.count("not this saver's"), 1U);
}

TEST_F(RetentionTest, AMovedDirectoryMeansItsOwnCheckpoints) {
  for (std::int64_t step : {1, 2, 3}) write(step);
  write(3, "original");
  update_checkpoint_state(
      disk, "run",
      {.model_checkpoint_path = "/original/model.ckpt-3",
       .all_model_checkpoint_paths = {"/original/model.ckpt-1", "/original/model.ckpt-2", "/original/model.ckpt-3"}},
      kLatestFilename, false);
  detail::Retention retention = open({.max_to_keep = 2});
  EXPECT_EQ(retention.prefixes(), (Prefixes{"run/model.ckpt-1", "run/model.ckpt-2", "run/model.ckpt-3"}));
  save(retention, 4, 0);
  EXPECT_EQ(on_disk(), (Prefixes{"run/model.ckpt-3", "run/model.ckpt-4"}));
  EXPECT_EQ(checkpoints_on_disk(disk, "original"), Prefixes{"original/model.ckpt-3"});
}

TEST_F(RetentionTest, EachRemovalIsLoggedWithItsReason) {
  testing::LogLines log;
  detail::Retention retention = open({.max_to_keep = 1, .keep_checkpoint_every_n_hours = 2});
  for (std::int64_t hour : {0, 1, 2, 3}) save(retention, hour, static_cast<double>(hour) * 3600);
  EXPECT_EQ(log.take(),
            (std::vector<std::string>{"I Removed run/model.ckpt-0: max_to_keep is 1.",
                                      "I Removed run/model.ckpt-1: max_to_keep is 1.",
                                      "I Keeps run/model.ckpt-2 permanently: keep_checkpoint_every_n_hours is 2."}));
}

TEST_F(RetentionTest, TheClockOfKeepingStartsWithTheSaverUnlessTheDirectoryHasOne) {
  const detail::RetentionPolicy policy{.max_to_keep = 1, .keep_checkpoint_every_n_hours = 10};
  const double hour = 3600;
  for (int start = 0; start < 10; ++start) {  // a job that is restarted every 5 hours
    detail::Retention retention(disk, "run/model.ckpt", "checkpoint", policy, 5 * start * hour);
    for (const int half : {1, 2, 3, 4}) save(retention, start * 10 + half, (5 * start + half) * hour);
    const int rounds = start / 2;
    EXPECT_EQ(get_checkpoint_state(disk, "run")->last_preserved_timestamp.value(), rounds * 10 * hour) << start;
  }
  EXPECT_EQ(on_disk().size(), 5U) << "one for each 10 hours after the first, and the newest";
}

TEST_F(RetentionTest, AStampInTheFutureIsSaidAndKeeps) {
  update_checkpoint_state(disk, "run", {.model_checkpoint_path = write(1), .last_preserved_timestamp = 9e9});
  testing::LogLines log;
  detail::Retention retention = open({.max_to_keep = 1});
  for (std::int64_t step : {2, 3, 4}) save(retention, step, 1000);
  EXPECT_EQ(on_disk(), (Prefixes{"run/model.ckpt-1", "run/model.ckpt-4"}))
      << "one is kept, then the clock counts again";
  EXPECT_EQ(log.count("its last_preserved_timestamp is 8999999000 seconds ahead of the clock"), 1U);
  EXPECT_EQ(log.count("Keeps run/model.ckpt-1 permanently"), 1U);
}

TEST_F(RetentionTest, ACheckpointFromTheFutureIsKeptAndSaid) {
  update_checkpoint_state(disk, "run",
                          {.model_checkpoint_path = write(1),
                           .all_model_checkpoint_paths = {"run/model.ckpt-1"},
                           .all_model_checkpoint_timestamps = {5000},
                           .last_preserved_timestamp = 100});
  testing::LogLines log;
  detail::Retention retention = open({.max_to_keep = 1});
  for (std::int64_t step : {2, 3, 4}) save(retention, step, 1000);
  EXPECT_EQ(on_disk(), (Prefixes{"run/model.ckpt-1", "run/model.ckpt-4"}));
  EXPECT_EQ(get_checkpoint_state(disk, "run")->last_preserved_timestamp, 1000);
  EXPECT_EQ(log.count("W Keeps run/model.ckpt-1 permanently"), 1U);
}

TEST_F(RetentionTest, ReplaceTakesNamesWithoutAStepAndOnlyItsOwnDirectory) {
  for (const char* name : {"run/first", "run/second", "other/third"}) {
    BundleWriter(name, {.file_system = &disk}).finish();
  }
  testing::LogLines log;
  detail::Retention retention = open({.max_to_keep = 2});
  retention.replace({"run/first", "other/third", "run/second"});
  EXPECT_EQ(retention.prefixes(), (Prefixes{"run/first", "run/second"}));
  EXPECT_EQ(log.count("other/third is not in run"), 1U);
  save(retention, 1, 0);
  EXPECT_FALSE(checkpoint_exists(disk, "run/first"));
  EXPECT_TRUE(checkpoint_exists(disk, "other/third"));
}

TEST_F(RetentionTest, KeepsOneEverySoManyHoursPermanently) {
  detail::Retention retention = open({.max_to_keep = 1, .keep_checkpoint_every_n_hours = 2});
  for (std::int64_t hour : {0, 1, 2, 3, 4, 5}) save(retention, hour, static_cast<double>(hour) * 3600);
  EXPECT_EQ(on_disk(), (Prefixes{"run/model.ckpt-2", "run/model.ckpt-4", "run/model.ckpt-5"}));
  EXPECT_EQ(listed(), (Prefixes{"run/model.ckpt-5"}));
}

TEST_F(RetentionTest, KeepsTheFirstOfEachPeriodWhateverThePeriodOfSaves) {
  detail::Retention retention = open({.max_to_keep = 1, .keep_checkpoint_every_n_hours = 1});
  for (std::int64_t minute = 0; minute <= 300; minute += 45) save(retention, minute, static_cast<double>(minute) * 60);
  for (std::int64_t minute : {3000, 3010, 3020}) save(retention, minute, static_cast<double>(minute) * 60);
  EXPECT_EQ(on_disk(), (Prefixes{"run/model.ckpt-90", "run/model.ckpt-135", "run/model.ckpt-180", "run/model.ckpt-270",
                                 "run/model.ckpt-3000", "run/model.ckpt-3020"}))
      << "the hours without a save are not made up for";
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
  EXPECT_EQ(get_checkpoint_state(disk, "run")->last_preserved_timestamp, 2 * 3600);
}

TEST_F(RetentionTest, S31_ARemovalThatFailsIsLoggedAndTriedAgainAtTheNextSave) {
  std::string log;
  const LogSink before = set_log_sink([&](LogLevel, std::string_view line) { log += line; });
  testing::FaultyFileSystem faulty(disk);
  detail::Retention retention(faulty, "run/model.ckpt", "checkpoint", {.max_to_keep = 1});
  retention.add(write(1), 1);
  faulty.set_callback([](testing::FileOperation operation, const std::string& path) {
    if (operation == testing::FileOperation::Rename && path.starts_with("run/model.ckpt-1.index."))
      throw PermissionDeniedError("it cannot be renamed");
  });
  retention.add(write(2), 2);
  EXPECT_NE(log.find("run/model.ckpt-1 could not be removed"), std::string::npos) << log;
  EXPECT_EQ(on_disk(), (Prefixes{"run/model.ckpt-1", "run/model.ckpt-2"}));
  EXPECT_EQ(listed(), (Prefixes{"run/model.ckpt-1", "run/model.ckpt-2"})) << "so that it is known after a restart too";
  faulty.set_callback({});
  retention.add(write(3), 3);
  EXPECT_EQ(on_disk(), Prefixes{"run/model.ckpt-3"});
  set_log_sink(before);
}

TEST_F(RetentionTest, TidiesUpWithoutASaveAndOnlyIfThereIsSomethingToDo) {
  disk.set_time(1);
  {
    detail::Retention earlier = open({.max_to_keep = 3});
    for (std::int64_t step : {1, 2, 3}) save(earlier, step, 1);
  }
  testing::FaultyFileSystem watched(disk);
  const auto tidy = [&] { detail::Retention(watched, "run/model.ckpt", "checkpoint", {.max_to_keep = 2}).tidy(3); };
  disk.set_time(2);
  open({.max_to_keep = 3}).begin("run/model.ckpt-4");
  write(4);  // its writer was killed
  tidy();
  EXPECT_EQ(on_disk(), (Prefixes{"run/model.ckpt-3", "run/model.ckpt-4"}));
  EXPECT_EQ(listed(), (Prefixes{"run/model.ckpt-3", "run/model.ckpt-4"}));
  watched.reset();
  tidy();
  EXPECT_EQ(watched.count(testing::FileOperation::CreateWritable), 0U);
  disk.remove_file("run/model.ckpt-3.index");
  tidy();
  EXPECT_EQ(listed(), Prefixes{"run/model.ckpt-4"}) << "what is gone is not listed";
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

TEST_F(RetentionTest, AStateFileThatCannotBeReadIsAnErrorAndCostsNoKnowledge) {
  {
    detail::Retention earlier = open({.max_to_keep = 3});
    for (std::int64_t step : {1, 2, 3}) save(earlier, step, 0);
  }
  testing::FaultyFileSystem faulty(disk);
  const auto owned = [&] { return detail::Retention(faulty, "run/model.ckpt", "checkpoint", {}).prefixes(); };
  using enum testing::FileOperation;
  for (const testing::FileOperation kind : {Exists, OpenReadable, Size, Read}) {
    faulty.fail_at(kind, 1, ErrorCode::PermissionDenied);
    EXPECT_THROW(static_cast<void>(owned()), PermissionDeniedError);
    faulty.fail_from(kind, 1, ErrorCode::DataLoss);  // the device's error
    EXPECT_THROW(static_cast<void>(owned()), UnknownError);
    faulty.reset();
    faulty.fail_at(kind, 1, ErrorCode::DataLoss);
    EXPECT_EQ(owned(), (Prefixes{"run/model.ckpt-1", "run/model.ckpt-2", "run/model.ckpt-3"})) << "asked again";
  }
}

}  // namespace
}  // namespace trainhook
