// SPDX-License-Identifier: Apache-2.0
/// @file
/// Durations for people.
#include <trainhook/core/duration_text.hpp>

#include <chrono>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

using namespace std::chrono_literals;

TEST(DurationText, IsForPeople) {
  EXPECT_EQ(duration_text(0s), "0.0 s");
  EXPECT_EQ(duration_text(420ms), "0.4 s");
  EXPECT_EQ(duration_text(9990ms), "10 s");
  EXPECT_EQ(duration_text(59400ms), "59 s");
  EXPECT_EQ(duration_text(59600ms), "1 min 00 s");
  EXPECT_EQ(duration_text(185s), "3 min 05 s");
  EXPECT_EQ(duration_text(64min), "1 h 04 min");
  EXPECT_EQ(duration_text(7620s), "2 h 07 min");
}

}  // namespace
}  // namespace trainhook
