// SPDX-License-Identifier: Apache-2.0
/// @file
/// NeverTriggerTimer: it is what its name says.
#include <trainhook/compat/never_trigger_timer.hpp>

#include <chrono>
#include <optional>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

using namespace std::chrono_literals;

TEST(NeverTriggerTimer, NeverTriggersAndNotesNothing) {
  NeverTriggerTimer timer;
  EXPECT_FALSE(timer.should_trigger_for_step(1, 0s));
  EXPECT_FALSE(timer.update_last_triggered_step(1, 0s).has_value());
  EXPECT_FALSE(timer.update_last_triggered_step(2, 9s).has_value());
  EXPECT_FALSE(timer.should_trigger_for_step(1'000'000, 24h));
  EXPECT_EQ(timer.last_triggered_step(), std::nullopt);
}

}  // namespace
}  // namespace trainhook
