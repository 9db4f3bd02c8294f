// SPDX-License-Identifier: Apache-2.0
/// @file
/// mpi::shard_globally: the same global batches for any number of ranks.
#include <trainhook/mpi/shard_globally.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/data/iterator.hpp>
#include <trainhook/mpi/collective.hpp>
#include <trainhook/testing/log_lines.hpp>

#include "world.hpp"

namespace trainhook::mpi {
namespace {

using namespace std::chrono_literals;
using trainhook::testing::world;

/// Batches of 10 numbers with their names.
Dataset batches() {
  return Dataset::range(100)
      .map(
          [](Element element) {
            const std::int64_t number = element.at(0).scalar<std::int64_t>();
            return Element{Tensor(number), Tensor("n" + std::to_string(number))};
          },
          {.element_spec = ElementSpec{{.dtype = DType::Int64, .shape = PartialShape({})},
                                       {.dtype = DType::String, .shape = PartialShape({})}}})
      .shuffle(100, 5)
      .batch(10);
}

/// What this rank has of a batch: `3:n3 8:n8 `.
std::string text_of(const Element& element) {
  const auto names = element.at(1).data<std::string>();
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += std::to_string(element.at(0).data<std::int64_t>()[i]) + ":" + names[i] + " ";
  return text;
}

/// What all ranks have, in their order.
std::string joined(const std::string& mine) {
  std::string all;
  for (const std::string& part : collective(world())->all_gather(mine, 60s)) all += part;
  return all;
}

TEST(ShardGlobally, TheRanksTogetherHaveTheGlobalBatches) {
  Iterator whole(batches());
  Iterator mine(shard_globally(batches(), world()));
  for (int i = 0; i < 10; ++i) {
    Element batch;
    Element part;
    whole.get_next(batch);
    mine.get_next(part);
    EXPECT_EQ(joined(text_of(part)), text_of(batch));
    EXPECT_NEAR(static_cast<double>(part[0].num_elements()), 10.0 / world().size(), 1);
  }
}

TEST(ShardGlobally, APositionThatOtherRanksSavedIsGoneOnFrom) {
  MPI_Comm alone = MPI_COMM_NULL;
  MPI_Comm_split(world().native(), world().rank(), 0, &alone);
  Iterator one(shard_globally(batches(), Communicator(alone)));
  MPI_Comm_free(&alone);
  Element batch;
  one.get_next(batch);
  one.get_next(batch);
  Iterator mine(shard_globally(batches(), world()));
  mine.restore_state(one.save_state());
  one.get_next(batch);
  Element part;
  mine.get_next(part);
  EXPECT_EQ(joined(text_of(part)), text_of(batch));
}

TEST(ShardGlobally, RowsThatRanksDoNotDivideAreSaidOnce) {
  trainhook::testing::LogLines log;
  const Dataset parts = shard_globally(batches(), world());
  for (int i = 0; i < 2; ++i) {
    Iterator mine(parts);
    Element part;
    mine.get_next(part);
    mine.get_next(part);
  }
  const bool is_said = world().rank() == 0 && 10 % world().size() != 0;
  EXPECT_EQ(log.count("of a batch of 10, so the mean of their gradients is not the mean over the rows"),
            is_said ? 1U : 0U);
}

TEST(ShardGlobally, WhatIsNotABatchIsAnError) {
  EXPECT_THROW(static_cast<void>(shard_globally(Dataset::range(10), world())), InvalidArgumentError);
  if (world().size() == 1) return;
  Iterator mine(shard_globally(Dataset::range(10).batch(1), world()));
  Element part;
  EXPECT_THROW(mine.get_next(part), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook::mpi
