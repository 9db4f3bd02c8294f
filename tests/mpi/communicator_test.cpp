// SPDX-License-Identifier: Apache-2.0
/// @file
/// Communicator: ranks, copies, and what MPI says of mistakes.
#include <trainhook/mpi/communicator.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/testing/log_lines.hpp>

#include "world.hpp"

namespace trainhook::mpi {
namespace {

using trainhook::testing::world;

TEST(Communicator, KnowsItsRanks) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  EXPECT_EQ(world().size(), size);
  EXPECT_GE(world().rank(), 0);
  EXPECT_LT(world().rank(), size);
}

TEST(Communicator, ACopySharesItAndADuplicateDoesNot) {
  const Communicator copy = world();
  EXPECT_EQ(copy.native(), world().native());
  const Communicator duplicate = world().duplicate();
  EXPECT_NE(duplicate.native(), world().native());
  EXPECT_EQ(duplicate.rank(), world().rank());
  int result = MPI_UNEQUAL;
  MPI_Comm_compare(duplicate.native(), world().native(), &result);
  EXPECT_EQ(result, MPI_CONGRUENT);
}

TEST(Communicator, TakesAPartOfTheRanks) {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(world().native(), world().rank() % 2, world().rank(), &half);
  const Communicator part(half);
  MPI_Comm_free(&half);
  EXPECT_EQ(part.rank(), world().rank() / 2);
  EXPECT_EQ(part.size(), (world().size() + 1 - world().rank() % 2) / 2);
}

TEST(Communicator, OfNoRanksIsAnError) {
  EXPECT_THROW(static_cast<void>(Communicator(MPI_COMM_NULL)), InvalidArgumentError);
}

TEST(Communicator, LogLinesBeginWithTheRankInTheWorld) {
  trainhook::testing::LogLines log;
  log_info("saved");
  const std::string rank = "[rank " + std::to_string(world().rank()) + "] ";
  EXPECT_EQ(log.lines, std::vector<std::string>{"I " + (world().size() > 1 ? rank : "") + "saved"});
}

TEST(Communicator, AMistakeIsAnErrorThatNamesCallAndRank) {
  int value = 0;
  const int code = MPI_Bcast(&value, 1, MPI_INT, 1000, world().native());
  try {
    detail::expect_success(code, "MPI_Bcast", world().rank());
    ADD_FAILURE() << "no error";
  } catch (const InternalError& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find("MPI_Bcast failed on rank " + std::to_string(world().rank()) + ": "), 0U) << text;
    EXPECT_NE(text.find("root"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace trainhook::mpi
