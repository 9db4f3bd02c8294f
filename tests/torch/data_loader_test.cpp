// SPDX-License-Identifier: Apache-2.0
/// @file
/// DataLoader: with any number of workers it gives the batches of a Sampler, and its position is what was taken.
#include <trainhook/torch/data_loader.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook::libtorch {
namespace {

// Example i is the number i.
struct Numbers : ::torch::data::Dataset<Numbers> {
  explicit Numbers(std::size_t examples) : count(examples) {}
  ::torch::data::Example<> get(std::size_t index) override {
    if (static_cast<std::int64_t>(index) == bad->load()) throw std::runtime_error("cannot be read");
    return {::torch::full({}, static_cast<std::int64_t>(index), ::torch::kLong), {}};
  }
  ::torch::optional<std::size_t> size() const override { return count; }

  std::size_t count;
  std::shared_ptr<std::atomic<std::int64_t>> bad = std::make_shared<std::atomic<std::int64_t>>(-1);
};

std::vector<std::int64_t> indices_of(const std::vector<::torch::data::Example<>>& batch) {
  std::vector<std::int64_t> indices;
  for (const auto& example : batch) indices.push_back(example.data.item<std::int64_t>());
  return indices;
}

::torch::data::DataLoaderOptions workers(std::size_t count) {
  return ::torch::data::DataLoaderOptions().workers(count).max_jobs(3 * count);
}

TEST(DataLoader, GivesTheBatchesOfASampler) {
  for (const std::size_t count : {0U, 1U, 3U}) {
    LoopSession loop;
    DataLoader loader(loop, "loader", Numbers(10), {.batch = 4, .seed = 7}, workers(count));
    Sampler sampler(loop, "sampler", 10, {.batch = 4, .seed = 7});
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(loader.epoch(), sampler.epoch());
      EXPECT_EQ(indices_of(loader.next()), sampler.next_indices()) << count << " workers, batch " << i;
    }
  }
}

TEST(DataLoader, ContinuesBehindWhatWasTakenAndNotBehindWhatWorkersHaveRead) {
  for (const std::size_t count : {0U, 2U}) {
    for (int before = 0; before < 7; ++before) {
      LoopSession first_loop, second_loop;
      DataLoader first(first_loop, "loader", Numbers(10), {.batch = 4, .seed = 7}, workers(count));
      for (int i = 0; i < before; ++i) (void)first.next();
      const NamedTensor position{"loader", first_loop.saved_value("loader")};
      DataLoader second(second_loop, "loader", Numbers(10), {.batch = 4, .seed = 7}, workers(count));
      for (int i = 0; i < 2; ++i) (void)second.next();
      second_loop.load(std::span(&position, 1));
      for (int i = 0; i < 5; ++i) EXPECT_EQ(indices_of(second.next()), indices_of(first.next())) << before;
    }
  }
}

TEST(DataLoader, ReadsABatchAgainThatCouldNotBeRead) {
  for (const std::size_t count : {0U, 2U}) {
    LoopSession loop;
    const Numbers numbers(6);
    numbers.bad->store(5);
    DataLoader loader(loop, "loader", numbers, {.batch = 2, .shuffle = false}, workers(count));
    (void)loader.next();
    EXPECT_EQ(indices_of(loader.next()), (std::vector<std::int64_t>{2, 3}));
    EXPECT_ANY_THROW((void)loader.next());
    numbers.bad->store(-1);
    EXPECT_EQ(indices_of(loader.next()), (std::vector<std::int64_t>{4, 5}));
    EXPECT_EQ(indices_of(loader.next()), (std::vector<std::int64_t>{0, 1}));
  }
}

TEST(DataLoader, TakesTransforms) {
  LoopSession loop;
  DataLoader loader(
      loop, "loader",
      Numbers(4)
          .map(::torch::data::transforms::Lambda<::torch::data::Example<>>(
              [](::torch::data::Example<> one) { return ::torch::data::Example<>(one.data, one.data + 1); }))
          .map(::torch::data::transforms::Stack<>()),
      {.batch = 2, .shuffle = false}, workers(1));
  EXPECT_TRUE(::torch::equal(loader.next().target, ::torch::tensor({1, 2}, ::torch::kLong)));
}

TEST(DataLoader, NeedsADataSetThatTellsItsSize) {
  struct Endless : ::torch::data::Dataset<Endless> {
    ::torch::data::Example<> get(std::size_t /*index*/) override { return {}; }
    ::torch::optional<std::size_t> size() const override { return {}; }
  };
  LoopSession loop;
  EXPECT_THROW(DataLoader(loop, "loader", Endless()), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook::libtorch
