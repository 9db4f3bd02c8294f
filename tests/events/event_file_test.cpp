// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of event files: their names, their first record, and giving one up.
#include <trainhook/events/event_file.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/core/error.hpp>

#include "fixed_clock.hpp"

namespace trainhook {
namespace {

TEST(EventFile, NamesEachFileOnce) {
  const std::string first = detail::event_file_name(1700000000, "host", ".v2");
  const std::string second = detail::event_file_name(1700000000, "host", ".v2");
  EXPECT_TRUE(first.starts_with("events.out.tfevents.1700000000.host.")) << first;
  EXPECT_TRUE(first.ends_with(".v2")) << first;
  EXPECT_NE(first, second);
  EXPECT_TRUE(detail::event_file_name(7, "host", "").starts_with("events.out.tfevents.0000000007.host."));
}

TEST(EventFile, SortsAfterTheFilesThatAreThereWhateverTheClockSays) {
  testing::MemoryFileSystem disk;
  FixedClock clock;
  FixedClock set_back(1600000000);
  std::vector<std::string> opened;
  const auto open = [&](Clock& time) {
    detail::EventFile file(disk, time, "run", "");
    file.write("");
    opened.push_back(file.path());
  };
  for (int i = 0; i < 12; ++i) open(clock);  // in one second
  open(set_back);
  disk.write_file("run/events.out.tfevents.1800000000.of_tensorflow", "");
  opened.push_back("run/events.out.tfevents.1800000000.of_tensorflow");
  open(clock);
  for (const char* other :
       {"run/events.out.tfevents.x", "run/events.out.tfevents.1900000000", "run/x.tfevents.2000000000.y"})
    disk.write_file(other, "");
  open(clock);
  EXPECT_TRUE(std::ranges::is_sorted(opened));
  EXPECT_TRUE(opened.back().starts_with("run/events.out.tfevents.1800000002."));
}

TEST(EventFile, IsNotThereBeforeTheFirstWrite) {
  testing::MemoryFileSystem disk;
  FixedClock clock;
  detail::EventFile file(disk, clock, "run", "");
  file.sync();
  file.close();
  EXPECT_EQ(file.path(), "");
  EXPECT_FALSE(disk.exists("run"));
  file.write("");
  EXPECT_TRUE(disk.exists(file.path()));
}

TEST(EventFile, IsGivenUpAfterAFailureAndFollowedByAnother) {
  testing::MemoryFileSystem disk;
  testing::FaultyFileSystem faulty(disk);
  FixedClock clock;
  detail::EventFile file(faulty, clock, "run", "");
  file.write("one");
  const std::string first = file.path();
  faulty.fail_at(testing::FileOperation::Append, 1);
  EXPECT_THROW(file.write("two"), ResourceExhaustedError);
  EXPECT_EQ(file.path(), "");
  file.write("three");
  EXPECT_NE(file.path(), first);
  EXPECT_TRUE(disk.contents(first).ends_with("one"));
  EXPECT_TRUE(disk.contents(file.path()).ends_with("three"));
}

TEST(EventFile, ReportsWhatClosingReports) {
  testing::MemoryFileSystem disk;
  testing::FaultyFileSystem faulty(disk);
  FixedClock clock;
  detail::EventFile file(faulty, clock, "run", "");
  file.write("one");
  faulty.fail_at(testing::FileOperation::Close, 1);
  EXPECT_THROW(file.close(), ResourceExhaustedError);
  file.close();
}

}  // namespace
}  // namespace trainhook
