// SPDX-License-Identifier: Apache-2.0
/// @file
/// The machine's clocks behind the seam.
#include <trainhook/core/clock.hpp>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

TEST(Clock, MonotonicTimeNeverGoesBackwards) {
  Clock& clock = system_clock();
  Duration last = clock.monotonic_now();
  for (int i = 0; i < 1000; ++i) {
    const Duration now = clock.monotonic_now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(Clock, WallTimeIsSecondsSinceTheEpoch) {
  constexpr double kStartOf2020 = 1577836800;
  EXPECT_GT(system_clock().wall_seconds(), kStartOf2020);
}

TEST(Clock, IsTheSameObjectForEveryone) { EXPECT_EQ(&system_clock(), &system_clock()); }

}  // namespace
}  // namespace trainhook
