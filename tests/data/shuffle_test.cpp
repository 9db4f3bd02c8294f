// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the order that shuffling gives.
#include <trainhook/data/shuffle.hpp>

#include <algorithm>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

#include "pipelines.hpp"

namespace th = trainhook;
using pipelines::values;
using th::Dataset;
using Ints = std::vector<std::int64_t>;

namespace {

Ints counted(std::int64_t end) {
  Ints all(static_cast<std::size_t>(end));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST(Shuffle, GivesEachElementOncePerEpoch) {
  for (std::int64_t buffer_size : {1, 2, 7, 100, 1'000}) {
    Ints shuffled = values(Dataset::range(100).shuffle(buffer_size, 3));
    EXPECT_EQ(shuffled == counted(100), buffer_size == 1);
    std::ranges::sort(shuffled);
    EXPECT_EQ(shuffled, counted(100));
  }
}

TEST(Shuffle, LooksNoFurtherAheadThanItsBuffer) {
  const Ints shuffled = values(Dataset::range(1'000).shuffle(10, 3));
  for (std::size_t i = 0; i < shuffled.size(); ++i) EXPECT_LT(shuffled[i], static_cast<std::int64_t>(i) + 10);
}

TEST(Shuffle, IsTheSameOverRowsAndOverContents) {
  EXPECT_EQ(values(Dataset::range(50).shuffle(8, 3).repeat(3)),
            values(pipelines::generated(50).shuffle(8, 3).repeat(3)));
}

TEST(Shuffle, DependsOnItsSeedAlone) {
  EXPECT_EQ(values(Dataset::range(12).shuffle(12, 1)), (Ints{10, 9, 5, 6, 11, 8, 2, 3, 0, 1, 7, 4}));
  EXPECT_EQ(values(Dataset::range(12).shuffle(12, 2)), (Ints{5, 11, 9, 3, 0, 1, 10, 2, 4, 8, 6, 7}));
  EXPECT_EQ(values(Dataset::range(12).shuffle(4, 1)), (Ints{3, 4, 2, 5, 6, 8, 1, 7, 0, 9, 10, 11}));
}

TEST(Shuffle, ReshufflesEachEpochUnlessToldNotTo) {
  const Ints twice = values(Dataset::range(50).shuffle(50, 3).repeat(2));
  EXPECT_NE(Ints(twice.begin(), twice.begin() + 50), Ints(twice.begin() + 50, twice.end()));
  const Ints same = values(Dataset::range(50).shuffle(50, 3, {.reshuffle_each_iteration = false}).repeat(2));
  EXPECT_EQ(Ints(same.begin(), same.begin() + 50), Ints(same.begin() + 50, same.end()));
}

TEST(Shuffle, ReshufflesInNestedRepetitionsToo) {
  const Ints all = values(Dataset::range(50).shuffle(50, 3).repeat(2).take(100).repeat(2));
  EXPECT_NE(Ints(all.begin(), all.begin() + 100), Ints(all.begin() + 100, all.end()));
}

TEST(Shuffle, WithoutASeedDiffersFromIteratorToIterator) {
  const Dataset dataset = Dataset::range(1'000).shuffle(1'000);
  EXPECT_NE(values(dataset), values(dataset));
  const Ints pair =
      values(Dataset::zip({dataset, dataset})
                 .map(
                     [](th::Element element) {
                       return th::Element{th::Tensor(
                           element[0].scalar<std::int64_t>() == element[1].scalar<std::int64_t>() ? std::int64_t{1}
                                                                                                  : std::int64_t{0})};
                     },
                     {.element_spec = pipelines::int_spec()}));
  EXPECT_LT(std::accumulate(pair.begin(), pair.end(), std::int64_t{0}),
            100);  // two places in one pipeline shuffle apart
}

TEST(Shuffle, PlacesElementsEvenly) {
  std::vector<int> first(10);
  for (std::uint64_t seed = 0; seed < 5'000; ++seed)
    ++first[static_cast<std::size_t>(values(Dataset::range(10).shuffle(10, seed).take(1))[0])];
  for (int count : first) EXPECT_NEAR(count, 500, 110);
}

TEST(Shuffle, NeedsABuffer) { EXPECT_THROW((void)Dataset::range(5).shuffle(0, 1), th::InvalidArgumentError); }

}  // namespace
