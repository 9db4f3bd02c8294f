// SPDX-License-Identifier: Apache-2.0
/// @file
/// Votes: what the ranks of a job say together; and the text of ranks.
#include <trainhook/ranks/collective.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

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

std::string text_of(const std::vector<int>& ranks) { return detail::ranks_text(ranks); }

TEST(RanksText, NamesOneManyAndRows) {
  EXPECT_EQ(text_of({3}), "rank 3");
  EXPECT_EQ(text_of({0, 1}), "ranks 0 and 1");
  EXPECT_EQ(text_of({0, 1, 2, 5}), "ranks 0 to 2 and 5");
  EXPECT_EQ(text_of({1, 3, 4, 6, 7, 8, 9}), "ranks 1, 3, 4 and 6 to 9");
}

TEST(RanksText, StaysShort) {
  std::vector<int> odd;
  for (int rank = 1; rank < 1000; rank += 2) odd.push_back(rank);
  EXPECT_EQ(text_of(odd), "ranks 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31 and 484 more");
}

}  // namespace
}  // namespace trainhook
