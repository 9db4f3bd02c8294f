// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sampler: what the batches of an epoch are, and that a restored one continues behind what was handed out.
#include <trainhook/torch/sampler.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook::libtorch {
namespace {

using Indices = std::vector<std::int64_t>;

struct Samplers : ::testing::Test {
  LoopSession loop;
};

TEST_F(Samplers, AnEpochHasEachExampleOnceAndItsRestIsABatch) {
  Sampler sampler(loop, "sampler", 10, {.batch = 4, .seed = 7});
  std::vector<std::size_t> sizes;
  Indices all;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(sampler.epoch(), 0);
    const Indices batch = sampler.next_indices();
    sizes.push_back(batch.size());
    all.insert(all.end(), batch.begin(), batch.end());
  }
  EXPECT_EQ(sampler.epoch(), 1);
  EXPECT_EQ(sizes, (std::vector<std::size_t>{4, 4, 2}));
  EXPECT_FALSE(std::ranges::is_sorted(all));
  std::ranges::sort(all);
  EXPECT_EQ(all, (Indices{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_F(Samplers, LeavesTheRestOutIfAskedTo) {
  Sampler sampler(loop, "sampler", 10, {.batch = 4, .shuffle = false, .drop_last = true});
  EXPECT_EQ(sampler.next_indices(), (Indices{0, 1, 2, 3}));
  EXPECT_EQ(sampler.next_indices(), (Indices{4, 5, 6, 7}));
  EXPECT_EQ(sampler.epoch(), 1);
  EXPECT_EQ(sampler.next_indices(), (Indices{0, 1, 2, 3}));
}

TEST_F(Samplers, EachEpochHasAnOrderOfItsOwnThatTheSeedDecides) {
  const auto epochs = [](std::uint64_t seed) {
    LoopSession of_its_own;
    Sampler sampler(of_its_own, "sampler", 50, {.batch = 50, .seed = seed});
    return std::vector{sampler.next_indices(), Indices(sampler.next_indices())};
  };
  EXPECT_EQ(epochs(1), epochs(1));
  EXPECT_NE(epochs(1)[0], epochs(1)[1]);
  EXPECT_NE(epochs(1)[0], epochs(2)[0]);
}

TEST_F(Samplers, ContinuesBehindWhatWasHandedOut) {
  for (int before = 0; before < 9; ++before) {
    LoopSession first_loop, second_loop;
    Sampler first(first_loop, "sampler", 10, {.batch = 4, .seed = 7});
    for (int i = 0; i < before; ++i) (void)first.next();
    const NamedTensor position{"sampler", first_loop.saved_value("sampler")};
    Sampler second(second_loop, "sampler", 10, {.batch = 4, .seed = 7});
    (void)second.next();
    second_loop.load(std::span(&position, 1));
    EXPECT_EQ(second.epoch(), first.epoch());
    for (int i = 0; i < 7; ++i) EXPECT_EQ(Indices(second.next_indices()), Indices(first.next_indices())) << before;
  }
}

TEST_F(Samplers, GivesTensorsForIndexSelect) {
  Sampler sampler(loop, "sampler", 3, {.batch = 2, .shuffle = false});
  EXPECT_TRUE(::torch::equal(sampler.next(), ::torch::tensor({0, 1}, ::torch::kLong)));
}

TEST_F(Samplers, RefusesWhatGivesNoBatchAndPositionsOfOtherData) {
  EXPECT_THROW(Sampler(loop, "a", 0), InvalidArgumentError);
  EXPECT_THROW(Sampler(loop, "b", 3, {.batch = 0}), InvalidArgumentError);
  EXPECT_THROW(Sampler(loop, "c", 3, {.batch = 4, .drop_last = true}), InvalidArgumentError);
  const Sampler sampler(loop, "sampler", 3);
  const NamedTensor beyond{"sampler", Tensor::of<std::int64_t>({0, 4})};
  EXPECT_THROW(loop.load(std::span(&beyond, 1)), DataLossError);
  const NamedTensor last{"sampler", Tensor::of<std::int64_t>({(std::numeric_limits<std::int64_t>::max)(), 3})};
  EXPECT_THROW(loop.load(std::span(&last, 1)), DataLossError);
}

}  // namespace
}  // namespace trainhook::libtorch
