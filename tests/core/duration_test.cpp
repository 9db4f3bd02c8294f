// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of lengths of time as options; tests/compile_fail has what a number without a unit gives.
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

}  // namespace
}  // namespace trainhook
