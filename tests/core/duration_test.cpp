// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of lengths of time as options and as text; tests/compile_fail has what a number without a unit gives.
#include <trainhook/core/duration.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <ratio>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

using namespace std::chrono_literals;

TEST(Duration, TakesEveryChronoDurationAsItIs) {
  const Duration minute = 1min;
  EXPECT_EQ(minute, 60s);
  EXPECT_EQ(Duration(std::chrono::hours(-3)), -3h);
  EXPECT_EQ(Duration(std::chrono::duration<double>(1.5)), 1500ms);
  EXPECT_EQ(Duration(std::chrono::duration<std::int8_t, std::pico>(-100)), 0ns);
}

TEST(Duration, IsAHundredYearsForWhatIsLonger) {
  EXPECT_EQ(Duration(std::chrono::hours::max()), Duration::max());
  EXPECT_EQ(Duration(std::chrono::seconds::max()), Duration::max());
  EXPECT_EQ(Duration(std::chrono::nanoseconds::max()), Duration::max());
  EXPECT_EQ(Duration(std::chrono::duration<std::uint64_t>(~std::uint64_t{0})), Duration::max());
  EXPECT_EQ(Duration(std::chrono::seconds::min()), Duration::min());
  EXPECT_EQ(OptionalDuration(std::chrono::minutes::max()), OptionalDuration(Duration::max()));
  EXPECT_EQ(Duration(std::chrono::duration<double>(1e300)), Duration::max());
  EXPECT_EQ(Duration(std::chrono::duration<double>(std::nan(""))), Duration::max());
  EXPECT_EQ(duration_text(Duration::max()), "99 years");
}

TEST(Duration, ASumWithNeverIsNever) {
  const Duration now = 2h;
  EXPECT_EQ(Duration(now + Duration::max()), Duration::max());
  EXPECT_EQ(Duration(Duration::max() + Duration::max()), Duration::max());
  EXPECT_EQ(Duration(Duration::min() - now), Duration::min());
  EXPECT_EQ(Duration(now + (Duration::max() - 3h)), Duration::max() - 1h);
}

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
