// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of Environment.
#include <trainhook/session/environment.hpp>

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

TEST(Environment, LendsWhatItWasGiven) {
  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  FileWriterCache writers({.file_system = &disk, .clock = &clock});
  const Environment environment(disk, clock, writers);
  EXPECT_EQ(&environment.file_system(), &disk);
  EXPECT_EQ(&environment.clock(), &clock);
  EXPECT_EQ(&environment.writers(), &writers);
}

TEST(Environment, NothingForbidsASaveUnlessSomebodyCanBeAsked) {
  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  FileWriterCache writers({.file_system = &disk, .clock = &clock});
  Environment environment(disk, clock, writers);
  EXPECT_EQ(environment.save_veto(), std::nullopt);
  std::optional<std::string> reason;
  environment.set_save_veto([&] { return reason; });
  EXPECT_EQ(environment.save_veto(), std::nullopt);
  reason = "loss is NaN";
  EXPECT_EQ(environment.save_veto(), "loss is NaN");
}

}  // namespace
}  // namespace trainhook
