// SPDX-License-Identifier: Apache-2.0
/// @file
/// mpi::shard_globally: the same global batches for any number of ranks.
#include <trainhook/mpi/shard_globally.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/data/iterator.hpp>
#include <trainhook/hooks/checkpoint_input_pipeline_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/data/loop_iterator.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/mpi/collective.hpp>
#include <trainhook/testing/log_lines.hpp>

#include "temporary_folder.hpp"
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
std::string joined(const std::string& mine, const Communicator& comm = world()) {
  const std::shared_ptr<Collective> ranks = collective(comm);
  std::string all;
  for (const std::string& part : ranks->gather(mine, 0, 60s)) all += part;
  return ranks->broadcast(all, 0, 60s);
}

/// What all ranks take in the steps to `last_step` of a training that saves its input; a line per step.
std::string train(const std::string& directory, std::int64_t last_step, const Communicator& comm) {
  float weight = 0;
  LoopSession loop;
  loop.variable("weight", weight);
  Iterator& input = make_iterator(loop, shard_globally(batches(), comm));
  std::vector<std::string> mine;
  {
    auto session = monitored_training_session(
        loop, {.peers = peers(comm),
               .checkpoint_dir = directory,
               .save_checkpoint_steps = 1000,
               .hooks = {CheckpointInputPipelineHook(), StopAtStepHook({.last_step = last_step})}});
    Element part;
    run_until_stop(session, [&] {
      session.run([&] {
        ++weight;
        input.get_next(part);
      });
      mine.push_back(text_of(part));
    });
  }
  std::string all;
  for (const std::string& step : mine) all += joined(step, comm) + "\n";
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

TEST(ShardGlobally, AnInputThatAJobSavedIsGoneOnWithByAnotherNumberOfRanks) {
  const support::TemporaryFolder folder;
  const std::string directory = collective(world())->broadcast(folder.file("run"), 0, 60s);
  MPI_Comm half = MPI_COMM_NULL;
  const bool is_in_half = world().rank() < (world().size() + 1) / 2;
  MPI_Comm_split(world().native(), is_in_half ? 0 : 1, 0, &half);
  const Communicator some(half);
  MPI_Comm_free(&half);
  std::string taken = train(directory, 3, world());
  const std::string more = is_in_half ? train(directory, 6, some) : "";
  taken += collective(world())->broadcast(more, 0, 60s);
  taken += train(directory, 9, world());
  std::string expected;
  Iterator whole(batches());
  for (int i = 0; i < 9; ++i) {
    Element batch;
    whole.get_next(batch);
    expected += text_of(batch) + "\n";
  }
  EXPECT_EQ(taken, expected);
  joined("");  // so that rank 0's folder is there as long as another rank needs it
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
