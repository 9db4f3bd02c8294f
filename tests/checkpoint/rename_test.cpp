// SPDX-License-Identifier: Apache-2.0
/// @file
/// Which names a rename is about.
#include <trainhook/checkpoint/rename.hpp>

#include <string_view>

#include <gtest/gtest.h>

namespace trainhook::detail {
namespace {

constexpr auto kNowhere = std::string_view::npos;

TEST(FindParts, FindsWholePartsOfAName) {
  EXPECT_EQ(find_parts("net/fc1.weight", "net", 0), 0U);
  EXPECT_EQ(find_parts("net/fc1.weight", "fc1", 0), 4U);
  EXPECT_EQ(find_parts("net/fc1.weight", "fc1.weight", 0), 4U);
  EXPECT_EQ(find_parts("net/fc1.weight", "weight", 0), 8U);
  EXPECT_EQ(find_parts("net/fc1.weight", "fc1.", 0), 4U);
  EXPECT_EQ(find_parts("net/fc10.weight", "fc1", 0), kNowhere);
  EXPECT_EQ(find_parts("net/my_fc1.weight", "fc1", 0), kNowhere);
}

TEST(FindParts, FindsTheNextPlaceToo) {
  EXPECT_EQ(find_parts("xa/a/b/a", "a", 0), 3U);
  EXPECT_EQ(find_parts("xa/a/b/a", "a", 4), 7U);
  EXPECT_EQ(find_parts("xa/a/b/a", "a", 8), kNowhere);
}

TEST(Renamed, ReplacesWholePartsAtTheBeginning) {
  EXPECT_EQ(renamed("fc1/w", {{"fc1", "dense"}}), "dense/w");
  EXPECT_EQ(renamed("fc10/w", {{"fc1", "dense"}}), "fc10/w");
  EXPECT_EQ(renamed("net/fc1/w", {{"fc1", "dense"}}), "net/fc1/w");
  EXPECT_EQ(renamed("model.w", {{"model.", ""}}), "w");
  EXPECT_EQ(renamed("w", {{"w", ""}}), "");
}

TEST(Renamed, TakesTheFirstPairThatFitsAndAnEmptyOneFitsAll) {
  EXPECT_EQ(renamed("a/b", {{"a/b", "x"}, {"a", "y"}, {"", "z/"}}), "x");
  EXPECT_EQ(renamed("a/c", {{"a/b", "x"}, {"a", "y"}, {"", "z/"}}), "y/c");
  EXPECT_EQ(renamed("b", {{"a/b", "x"}, {"a", "y"}, {"", "z/"}}), "z/b");
}

}  // namespace
}  // namespace trainhook::detail
