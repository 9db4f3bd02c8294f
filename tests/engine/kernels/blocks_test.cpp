// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the cut into blocks.
#include <trainhook/engine/kernels/blocks.hpp>

#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace trainhook::detail {
namespace {

std::vector<std::pair<std::int64_t, std::int64_t>> all(const Blocks& blocks) {
  std::vector<std::pair<std::int64_t, std::int64_t>> found;
  for (std::int64_t i = 0; i < blocks.count(); ++i) found.emplace_back(blocks.at(i, 0).begin, blocks.at(i, 0).end);
  return found;
}
using Found = std::vector<std::pair<std::int64_t, std::int64_t>>;

TEST(Blocks, AreOneForLittleWork) {
  EXPECT_EQ(all({0, 1}), Found{});
  EXPECT_EQ(all({1, 1}), (Found{{0, 1}}));
  EXPECT_EQ(all({2 * kBlockCost - 1, 1}), (Found{{0, 2 * kBlockCost - 1}}));
}

TEST(Blocks, CostAtLeastWhatPaysForAThread) {
  EXPECT_EQ(all({2 * kBlockCost, 1}), (Found{{0, kBlockCost}, {kBlockCost, 2 * kBlockCost}}));
  EXPECT_EQ(all({4, kBlockCost / 2}), (Found{{0, 2}, {2, 4}}));
  EXPECT_EQ(all({3, INT64_MAX}), (Found{{0, 1}, {1, 2}, {2, 3}}));
  EXPECT_EQ(all({3, 0}), (Found{{0, 3}}));
}

TEST(Blocks, BeginWhereVectorsDo) { EXPECT_EQ(all({201, kBlockCost / 100}), (Found{{0, 128}, {128, 201}})); }

TEST(Blocks, HaveAtLeastAsManyItemsAsWanted) {
  EXPECT_EQ(all({33, kBlockCost, 16}), (Found{{0, 17}, {17, 33}}));
  EXPECT_EQ(all({3, kBlockCost, 16}), (Found{{0, 3}}));
}

}  // namespace
}  // namespace trainhook::detail
