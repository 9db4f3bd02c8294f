// SPDX-License-Identifier: Apache-2.0
/// @file
/// mpi::all_reduce: sums and means of all ranks.
#include <trainhook/mpi/all_reduce.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

#include "world.hpp"

namespace trainhook::mpi {
namespace {

using trainhook::testing::world;

template <class T>
class AllReduce : public ::testing::Test {};
using Types = ::testing::Types<float, double, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(AllReduce, Types);

TYPED_TEST(AllReduce, AddsUpTheValuesOfAllRanks) {
  std::vector<TypeParam> values = {static_cast<TypeParam>(world().rank()), 1, -2};
  all_reduce(values, Reduction::Sum, world());
  const int size = world().size();
  EXPECT_EQ(values, (std::vector<TypeParam>{static_cast<TypeParam>(size * (size - 1) / 2), static_cast<TypeParam>(size),
                                            static_cast<TypeParam>(-2 * size)}));
}

TEST(AllReduceMean, DividesByTheNumberOfRanks) {
  std::vector<double> values = {static_cast<double>(world().rank()), 1};
  all_reduce(values, Reduction::Mean, world());
  EXPECT_EQ(values, (std::vector<double>{(world().size() - 1) / 2.0, 1}));
}

TEST(AllReduceMean, OfWholeNumbersIsAnError) {
  std::vector<std::int32_t> values = {1};
  EXPECT_THROW(all_reduce(values, Reduction::Mean, world()), InvalidArgumentError);
}

TEST(AllReduceSum, OfDifferentNumbersOfValuesIsAnErrorOnEachRank) {
  std::vector<float> values(static_cast<std::size_t>(1 + world().rank()), 1.0F);
  if (world().size() == 1) return all_reduce(values, Reduction::Sum, world());
  EXPECT_THROW(all_reduce(values, Reduction::Sum, world()), InvalidArgumentError);
  EXPECT_EQ(values.back(), 1.0F);
}

TEST(AllReduceSum, OfNothingIsNothing) { all_reduce(std::span<float>(), Reduction::Sum, world()); }

TEST(AllReduceSum, GivesTheSameBitsOnEveryRankAndEveryTime) {
  std::mt19937 random(static_cast<unsigned>(world().rank()));
  std::vector<float> mine(10'000);
  for (float& value : mine) value = std::uniform_real_distribution<float>(-1, 1)(random);
  std::vector<float> first = mine;
  all_reduce(first, Reduction::Sum, world());
  for (int again = 0; again < 5; ++again) {
    std::vector<float> values = mine;
    all_reduce(values, Reduction::Sum, world());
    EXPECT_EQ(values, first);
  }
  std::vector<float> of_chief = first;
  MPI_Bcast(of_chief.data(), static_cast<int>(of_chief.size()), MPI_FLOAT, 0, world().native());
  EXPECT_EQ(first, of_chief);
}

}  // namespace
}  // namespace trainhook::mpi
