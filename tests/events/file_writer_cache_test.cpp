// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the writers that hooks share.
#include <trainhook/events/file_writer_cache.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/events/event_reader.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/recording_writer.hpp>

#include "fixed_clock.hpp"

namespace trainhook {
namespace {

TEST(FileWriterCache, GivesOneWriterForADirectory) {
  FileWriterCache writers;
  EXPECT_EQ(&writers.at("run"), &writers.at("run"));
  EXPECT_EQ(&writers.at("run"), &writers.at("run//"));
  EXPECT_NE(&writers.at("run"), &writers.at("run/eval"));
  EXPECT_EQ(writers.at("run/eval").get_logdir(), "run/eval");
  EXPECT_EQ(writers.at("/").get_logdir(), "/");
}

TEST(FileWriterCache, ARestartIsRecordedInEveryDirectoryThatGetsSummaries) {
  testing::MemoryFileSystem disk;
  FixedClock clock;
  FileWriterCache writers({.file_system = &disk, .clock = &clock});
  static_cast<void>(writers.at("early"));
  static_cast<void>(writers.at("unused"));
  writers.restart_at(4);
  writers.at("early").add_scalar("x", 1, 4);
  writers.restart_at(8);  // after a recovery
  writers.at("early").add_scalar("x", 1, 8);
  writers.at("late").add_scalar("x", 1, 8);
  writers.close();
  using Lines = std::vector<std::string>;
  EXPECT_EQ(testing::event_lines(disk, "early"), (Lines{"4 START", "4 x=1", "8 START", "8 x=1"}));
  EXPECT_EQ(testing::event_lines(disk, "late"), (Lines{"4 START", "8 x=1"})) << "of an earlier process";
  EXPECT_FALSE(disk.exists("unused"));
}

TEST(FileWriterCache, ClosesAllAndGivesNoneAfterwards) {
  testing::MemoryFileSystem disk;
  FixedClock clock;
  FileWriterCache writers({.file_system = &disk, .clock = &clock});
  writers.at("a").add_scalar("x", 1, 1);
  writers.at("b").add_scalar("x", 1, 1);
  static_cast<void>(writers.at("never used"));
  writers.close();
  writers.close();
  EXPECT_EQ(disk.files().size(), 2U);
  for (const std::string& path : disk.files()) EXPECT_EQ(read_events(disk, path).events.size(), 2U);
  EXPECT_THROW(static_cast<void>(writers.at("a")), FailedPreconditionError);
}

TEST(FileWriterCache, FlushesAndClosesTheOthersIfOneFails) {
  testing::MemoryFileSystem disk;
  testing::FaultyFileSystem faulty(disk);
  FixedClock clock;
  FileWriterCache writers({.on_error = EventErrors::Throw, .file_system = &faulty, .clock = &clock});
  faulty.set_callback([](testing::FileOperation, const std::string& path) {
    if (path.starts_with("a")) throw PermissionDeniedError("cannot write {}", path);
  });
  for (const char* directory : {"a", "b"}) writers.at(directory).add_scalar("x", 1, 1);
  EXPECT_THROW(writers.flush(), PermissionDeniedError);
  EXPECT_EQ(disk.files().size(), 1U);
  for (const char* directory : {"a", "b"}) writers.at(directory).add_scalar("x", 1, 2);
  EXPECT_THROW(writers.close(), PermissionDeniedError);
  EXPECT_EQ(read_events(disk, disk.files().at(0)).events.size(), 3U);
}

}  // namespace
}  // namespace trainhook
