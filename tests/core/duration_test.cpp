// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of lengths of time as options and as text; tests/compile_fail has what a number without a unit gives.
#include <trainhook/core/duration.hpp>

#include <chrono>
#include <optional>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

using namespace std::chrono_literals;

TEST(OptionalDuration, IsNothingOrAnyDuration) {
  const OptionalDuration none{};
  const OptionalDuration a_minute = 60s;
  EXPECT_FALSE(none);
  EXPECT_EQ(*a_minute, 1min);
  EXPECT_EQ(OptionalDuration(std::optional<Duration>(5ms)), OptionalDuration(5ms));
  EXPECT_NE(a_minute, none);
  EXPECT_TRUE(a_minute == Duration(1min));
  EXPECT_EQ(none.value_or(Duration(2s)), 2s);
}

TEST(DurationText, IsForPeople) {
  EXPECT_EQ(duration_text(0s), "0.0 s");
  EXPECT_EQ(duration_text(420ms), "0.4 s");
  EXPECT_EQ(duration_text(9990ms), "10 s");
  EXPECT_EQ(duration_text(59400ms), "59 s");
  EXPECT_EQ(duration_text(59600ms), "1 min 00 s");
  EXPECT_EQ(duration_text(185s), "3 min 05 s");
  EXPECT_EQ(duration_text(64min), "1 h 04 min");
  EXPECT_EQ(duration_text(7620s), "2 h 07 min");
  EXPECT_EQ(duration_text(24h - 1s), "23 h 59 min");
  EXPECT_EQ(duration_text(24h), "1 day 0 h");
  EXPECT_EQ(duration_text(76h + 30min), "3 days 4 h");
  EXPECT_EQ(duration_text(99 * 24h + 23h), "99 days 23 h");
  EXPECT_EQ(duration_text(100 * 24h), "100 days");
  EXPECT_EQ(duration_text(729 * 24h), "729 days");
  EXPECT_EQ(duration_text(731 * 24h), "2 years");
  EXPECT_EQ(duration_text(83299h + 8min), "9 years");
}

}  // namespace
}  // namespace trainhook
