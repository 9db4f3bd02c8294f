// SPDX-License-Identifier: Apache-2.0
/// @file
/// mpi::collective: each call with all ranks. VoteExchange: the same votes on all ranks, whatever their number.
#include <trainhook/mpi/collective.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <mpi.h>

#include <trainhook/core/error.hpp>
#include <trainhook/mpi/communicator.hpp>
#include <trainhook/mpi/request.hpp>
#include <trainhook/ranks/collective.hpp>

#include "world.hpp"

namespace trainhook::mpi {
namespace {

using namespace std::chrono_literals;
using trainhook::testing::world;

// Of another length on every rank; empty on rank 0.
std::string bytes_of(int rank) {
  return std::string(static_cast<std::size_t>(rank) * 100'000, static_cast<char>('a' + rank));
}

std::vector<std::string> bytes_of_all() {
  std::vector<std::string> all;
  for (int rank = 0; rank < world().size(); ++rank) all.push_back(bytes_of(rank));
  return all;
}

TEST(MpiCollective, BroadcastGivesTheBytesOfTheRoot) {
  const std::shared_ptr<Collective> ranks = collective(world());
  for (int root = 0; root < ranks->size(); ++root)
    EXPECT_EQ(ranks->broadcast(bytes_of(ranks->rank()), root, 60s), bytes_of(root));
  EXPECT_THROW(static_cast<void>(ranks->broadcast("", ranks->size(), 60s)), InvalidArgumentError);
}

TEST(MpiCollective, GatherGivesTheBytesOfAllInOrder) {
  const std::shared_ptr<Collective> ranks = collective(world());
  for (int root = 0; root < ranks->size(); ++root) {
    const std::vector<std::string> got = ranks->gather(bytes_of(ranks->rank()), root, 60s);
    EXPECT_EQ(got, root == ranks->rank() ? bytes_of_all() : std::vector<std::string>());
  }
}

TEST(MpiCollective, VotesAreReducedWhileTheRanksContinue) {
  const std::shared_ptr<Collective> ranks = collective(world());
  const std::int64_t last = ranks->size() - 1;
  for (std::int64_t step = 1; step <= 200; ++step) {
    const std::int64_t mine = step * 10 + ranks->rank();
    ranks->begin({.any = 1ULL << (ranks->rank() + 32), .least = {mine, -mine, 0}, .greatest = {mine, -mine, 0}});
    const Votes all = ranks->finish(60s);
    ASSERT_EQ(all, (Votes{.any = ((1ULL << ranks->size()) - 1) << 32,
                          .least = {step * 10, -(step * 10 + last), 0},
                          .greatest = {step * 10 + last, -step * 10, 0}}));
  }
  ranks->barrier(60s);
}

TEST(MpiCollective, AReductionIsFinishedBeforeTheNextCall) {
  const std::shared_ptr<Collective> ranks = collective(world());
  EXPECT_THROW(static_cast<void>(ranks->finish(60s)), FailedPreconditionError);
  ranks->begin({});
  EXPECT_THROW(ranks->begin({}), FailedPreconditionError);
  EXPECT_THROW(ranks->barrier(60s), FailedPreconditionError);
  EXPECT_EQ(ranks->finish(60s), Votes());
}

TEST(MpiCollective, TwoOfThemDoNotDisturbEachOther) {
  const std::shared_ptr<Collective> one = collective(world());
  const std::shared_ptr<Collective> other = collective(world());
  one->begin({.any = 1});
  other->begin({.any = 2});
  if (world().rank() % 2 == 0) {
    EXPECT_EQ(one->finish(60s).any, 1U);
    EXPECT_EQ(other->finish(60s).any, 2U);
  } else {
    EXPECT_EQ(other->finish(60s).any, 2U);
    EXPECT_EQ(one->finish(60s).any, 1U);
  }
}

TEST(MpiCollective, AReductionThatIsGivenUpDoesNotReachALaterOne) {
  for (int i = 0; i < 20; ++i) {
    collective(world())->begin({.any = 2});
    const std::shared_ptr<Collective> later = collective(world());
    later->begin({.any = 1});
    ASSERT_EQ(later->finish(60s).any, 1U);
  }
}

TEST(MpiCollective, WaitsForOtherRanksUntilTheDeadline) {
  const std::shared_ptr<Collective> ranks = collective(world());
  if (world().rank() != 0 || world().size() == 1) return;
  ranks->begin({});
  try {
    static_cast<void>(ranks->finish(0s));
    ADD_FAILURE() << "no error";
  } catch (const DeadlineExceededError& error) {
    EXPECT_EQ(std::string(error.what()), "rank 0 has waited 0 s in an agreement for other ranks");
  }
}

}  // namespace
}  // namespace trainhook::mpi

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
