// SPDX-License-Identifier: Apache-2.0
/// @file
/// Better: which of two values is the better one.
#include <trainhook/session/metric.hpp>

#include <limits>
#include <optional>

#include <gtest/gtest.h>

namespace trainhook::detail {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Better, IsTheLowerOrTheHigherValue) {
  EXPECT_TRUE(is_better(Better::Lower, 1, 2));
  EXPECT_FALSE(is_better(Better::Lower, 2, 1));
  EXPECT_TRUE(is_better(Better::Higher, 2, 1));
  EXPECT_FALSE(is_better(Better::Higher, 1, 2));
}

TEST(Better, AnEqualValueIsNotBetterAndTheFirstOneIs) {
  EXPECT_FALSE(is_better(Better::Lower, 1, 1));
  EXPECT_FALSE(is_better(Better::Higher, 1, 1));
  EXPECT_TRUE(is_better(Better::Higher, -kInfinity, std::nullopt));
}

TEST(Better, IsMoreThanMinDeltaAway) {
  EXPECT_FALSE(is_better(Better::Lower, 1.5, 2, 0.5));
  EXPECT_TRUE(is_better(Better::Lower, 1.25, 2, 0.5));
  EXPECT_FALSE(is_better(Better::Higher, 2.5, 2, 0.5));
  EXPECT_TRUE(is_better(Better::Higher, 2.75, 2, 0.5));
}

TEST(Better, NanIsNeverBetter) {
  EXPECT_FALSE(is_better(Better::Lower, kNan, std::nullopt));
  EXPECT_FALSE(is_better(Better::Higher, kNan, -kInfinity));
}

}  // namespace
}  // namespace trainhook::detail
