// SPDX-License-Identifier: Apache-2.0
/// @file
/// VoteExchange: the same votes on all ranks, whatever their number.
#include <trainhook/mpi/vote_exchange.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include <gtest/gtest.h>
#include <mpi.h>

#include <trainhook/mpi/communicator.hpp>
#include <trainhook/mpi/request.hpp>
#include <trainhook/ranks/collective.hpp>

#include "world.hpp"

namespace trainhook::mpi::detail {
namespace {

using namespace std::chrono_literals;
using trainhook::testing::world;

Votes vote_of(int rank, std::int64_t number) {
  return {.any = 1ULL << rank, .least = {number + rank, -rank}, .greatest = {number - rank, number + rank}};
}

Votes votes_of(int ranks, std::int64_t number) {
  Votes all;
  for (int rank = 0; rank < ranks; ++rank) all.add(vote_of(rank, number));
  return all;
}

void wait(VoteExchange& exchange) {
  wait_until([&] { return exchange.is_done(); }, "a test", world().rank(), 60s);
}

// For the first `ranks` of the world; nothing for the others.
std::optional<Communicator> first(int ranks) {
  MPI_Comm some = MPI_COMM_NULL;
  const int color = world().rank() < ranks ? 0 : MPI_UNDEFINED;
  expect_success(MPI_Comm_split(world().native(), color, world().rank(), &some), "MPI_Comm_split", world().rank());
  if (some == MPI_COMM_NULL) return std::nullopt;
  std::optional<Communicator> comm(std::in_place, some);
  MPI_Comm_free(&some);
  return comm;
}

TEST(VoteExchange, EveryRankGetsTheVotesOfAll) {
  for (int ranks = 1; ranks <= world().size(); ++ranks) {
    const std::optional<Communicator> comm = first(ranks);
    if (!comm) continue;
    VoteExchange exchange(*comm);
    exchange.start(vote_of(comm->rank(), 7));
    wait(exchange);
    EXPECT_EQ(exchange.votes(), votes_of(ranks, 7)) << ranks;
  }
}

TEST(VoteExchange, ManyInARowAreNotMixedUp) {
  const int size = world().size();
  VoteExchange exchange(world());
  for (std::int64_t number = 0; number < 3000; ++number) {
    exchange.start(vote_of(world().rank(), number));
    if (number % (world().rank() + 2) == 0) static_cast<void>(exchange.is_done());  // some are faster than others
    wait(exchange);
    ASSERT_EQ(exchange.votes(), votes_of(size, number));
  }
}

TEST(VoteExchange, ARankThatIsAheadDoesNotDisturbTheOthers) {
  const int size = world().size();
  VoteExchange exchange(world());
  exchange.start(vote_of(world().rank(), 1));
  wait(exchange);
  if (world().rank() == 0) exchange.start(vote_of(0, 2));  // while others may be in the first one
  MPI_Barrier(world().native());
  EXPECT_EQ(exchange.votes(), world().rank() == 0 ? vote_of(0, 2) : votes_of(size, 1));
  if (world().rank() != 0) exchange.start(vote_of(world().rank(), 2));
  wait(exchange);
  EXPECT_EQ(exchange.votes(), votes_of(size, 2));
}

}  // namespace
}  // namespace trainhook::mpi::detail
