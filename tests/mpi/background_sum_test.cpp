// SPDX-License-Identifier: Apache-2.0
/// @file
/// MpiBackgroundSum: sums of all ranks that are started, and finished later.
#include <trainhook/mpi/background_sum.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/mpi/all_reduce.hpp>

#include "world.hpp"

namespace trainhook::mpi::detail {
namespace {

using namespace std::chrono_literals;
using trainhook::testing::world;

void start(BackgroundSum& sum, std::span<const float> values) {
  const std::array parts{std::as_bytes(values)};
  sum.start(parts, DType::Float);
}

std::vector<float> finish(BackgroundSum& sum) {
  const std::span<const std::byte> bytes = sum.finish();
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Numbers of which each rank has others.
std::vector<float> random_values(std::size_t count, unsigned seed) {
  std::mt19937 random(seed * 1000 + static_cast<unsigned>(world().rank()));
  std::vector<float> values(count);
  for (float& value : values) value = std::uniform_real_distribution<float>(-1, 1)(random);
  return values;
}

TEST(MpiBackgroundSum, GivesTheBitsOfAReductionThatWaits) {
  const auto ranks = reducer(world());
  std::vector<std::unique_ptr<BackgroundSum>> sums;
  for (int i = 0; i < 3; ++i) sums.push_back(ranks->make_background_sum());
  for (int again = 0; again < 2; ++again) {
    const std::array<std::size_t, 3> counts{100'000, 1, 777};
    for (unsigned i = 0; i < 3; ++i) start(*sums[i], random_values(counts[i], i));
    for (unsigned i = 0; i < 3; ++i) {
      std::vector<float> expected = random_values(counts[i], i);
      all_reduce(expected, Reduction::Sum, world());  // while the others are under way
      EXPECT_EQ(finish(*sums[i]), expected);
    }
  }
}

TEST(MpiBackgroundSum, TakesItsPartsOneAfterTheOtherAndUsesItsMemoryAgain) {
  const auto sum = reducer(world())->make_background_sum();
  const std::vector<double> first = {1, 2, 3};
  const std::vector<double> second = {4, static_cast<double>(world().rank())};
  const double size = world().size();
  const std::byte* memory = nullptr;
  for (int again = 0; again < 3; ++again) {
    const std::array parts{std::as_bytes(std::span(first)), std::as_bytes(std::span(second))};
    sum->start(parts, DType::Double);
    const std::span<const std::byte> bytes = sum->finish();
    std::array<double, 5> values{};
    ASSERT_EQ(bytes.size(), sizeof values);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    EXPECT_EQ(values, (std::array<double, 5>{size, 2 * size, 3 * size, 4 * size, size * (size - 1) / 2}));
    EXPECT_TRUE(memory == nullptr || memory == bytes.data());
    memory = bytes.data();
  }
}

TEST(MpiBackgroundSum, OfNothingIsNothing) {
  const auto sum = reducer(world())->make_background_sum();
  start(*sum, {});
  EXPECT_TRUE(sum->finish().empty());
}

TEST(MpiBackgroundSum, IsStartedBeforeItIsFinishedAndOfNumbers) {
  const auto sum = reducer(world())->make_background_sum();
  EXPECT_THROW(static_cast<void>(sum->finish()), FailedPreconditionError);
  EXPECT_THROW(sum->start({}, DType::String), InvalidArgumentError);
  start(*sum, random_values(10, 0));
  EXPECT_EQ(finish(*sum).size(), 10U);
  EXPECT_THROW(static_cast<void>(sum->finish()), FailedPreconditionError);
}

TEST(MpiBackgroundSum, AreSentInSeveralMessagesIfThereAreManyElements) {
  std::vector<std::int64_t> values(20);
  std::iota(values.begin(), values.end(), world().rank());
  std::deque<Request> requests;
  start_sums(std::as_writable_bytes(std::span(values)), DType::Int64, world(), requests, 7);
  EXPECT_EQ(requests.size(), 3U);
  wait_for(requests, world(), 60s);
  EXPECT_TRUE(requests.empty());
  const std::int64_t size = world().size();
  for (std::int64_t i = 0; i < 20; ++i)
    EXPECT_EQ(values[static_cast<std::size_t>(i)], i * size + size * (size - 1) / 2);
}

TEST(MpiBackgroundSum, MayBeDestroyedWhileMpiWritesToItsMemory) {
  const auto ranks = reducer(world());
  auto sum = ranks->make_background_sum();
  auto next = ranks->make_background_sum();
  constexpr std::size_t kCount = std::size_t{4} << 20U;  // so many that the reduction takes its time
  start(*sum, random_values(kCount, 0));
  sum.reset();
  Tensor other = Tensor::uninitialized(DType::UInt8, {kCount * sizeof(float)});  // if freed memory is used again
  std::ranges::fill(other.overwrite_bytes(), std::byte{7});
  for (int i = 0; i < 100; ++i) MPI_Barrier(world().native());  // lets MPI move what was started
  EXPECT_EQ(std::ranges::count(other.bytes(), std::byte{7}), static_cast<std::ptrdiff_t>(kCount * sizeof(float)));
  if (world().size() > 1) {
    EXPECT_THROW(start(*next, random_values(10, 0)), FailedPreconditionError) << "ranks may be out of step";
  } else {
    start(*next, random_values(10, 0));
    EXPECT_EQ(finish(*next), random_values(10, 0));
  }
}

TEST(MpiBackgroundSum, OnlyTheSumsOfOneReducerGetOutOfStep) {
  const auto failed = reducer(world());
  auto sum = failed->make_background_sum();
  if (world().rank() == 0) start(*sum, random_values(5, 0));  // the others have failed before
  sum.reset();
  const auto other = reducer(world())->make_background_sum();
  std::vector<float> expected = random_values(100, 1);
  all_reduce(expected, Reduction::Sum, world());
  start(*other, random_values(100, 1));
  EXPECT_EQ(finish(*other), expected);
}

}  // namespace
}  // namespace trainhook::mpi::detail
