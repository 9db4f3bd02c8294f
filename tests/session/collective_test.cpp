// SPDX-License-Identifier: Apache-2.0
/// @file
/// Votes: what the ranks of a job say together.
#include <trainhook/session/collective.hpp>

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

TEST(Votes, AreEmptyAtFirst) {
  Votes all;
  all.add({});
  EXPECT_EQ(all, Votes());
  EXPECT_EQ(all.any, 0U);
}

TEST(Votes, OfARankWithoutAnyChangeNothing) {
  const Votes some{.any = 1, .least = Votes::all_of(7), .greatest = Votes::all_of(-7)};
  Votes all = some;
  all.add({});
  EXPECT_EQ(all, some);
}

TEST(Votes, HaveTheBitsOfAnyAndTheLeastAndTheGreatestOfAll) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  Votes all{.any = 0b001, .least = {3, 0, kLargest}, .greatest = {3, 0, -5}};
  all.add({.any = 0b100, .least = {2, 7, kLargest}, .greatest = {2, 7, -9}});
  EXPECT_EQ(all, (Votes{.any = 0b101, .least = {2, 0, kLargest}, .greatest = {3, 7, -5}}));
}

TEST(Votes, DoNotDependOnTheOrder) {
  const Votes one{.any = 1, .least = {1, 2, 3}, .greatest = {3, 2, 1}};
  const Votes other{.any = 6, .least = {3, 2, 1}, .greatest = {1, 2, 3}};
  Votes forth = one;
  forth.add(other);
  Votes back = other;
  back.add(one);
  EXPECT_EQ(forth, back);
}

}  // namespace
}  // namespace trainhook
