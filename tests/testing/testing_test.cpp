// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests that the umbrella of the public doubles is enough.
#include <trainhook/testing.hpp>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

class Idle final : public SessionRunHook {};

TEST(Testing, OneIncludeIsEnoughForATestOfAHook) {
  testing::ManualClock clock;
  testing::MemoryFileSystem disk;
  Idle my_hook;
  const auto trace = testing::run_steps(my_hook, {.steps = 1, .clock = &clock, .file_system = &disk});
  EXPECT_EQ(trace.lines(), "begin\nafter_create_session\nbefore_run 0\nafter_run 0\nend\n");
}

}  // namespace
}  // namespace trainhook
