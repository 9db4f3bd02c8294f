// SPDX-License-Identifier: Apache-2.0
/// @file
/// RollCall: who answers, and what is said of those that do not.
#include <trainhook/mpi/roll_call.hpp>

#include <string>

#include <gtest/gtest.h>

#include <trainhook/mpi/communicator.hpp>

#include "world.hpp"

namespace trainhook::mpi::detail {
namespace {

using trainhook::testing::world;

class RollCallTest : public ::testing::Test {
 protected:
  /// Rank 0 asks; the others wait in what `call_of` returns, or do not wait if that is empty.
  template <class CallOf>
  std::string text_of_rank_0(CallOf call_of) {
    MPI_Barrier(comm_.native());
    if (world().rank() == 0) roll_call_.ask();
    const std::string call = call_of(world().rank());
    for (int round = 0; round < 20; ++round) {  // enough for a question and an answer to arrive
      MPI_Barrier(comm_.native());
      if (!call.empty()) roll_call_.serve(call);
    }
    return roll_call_.text("a sum");
  }

  Communicator comm_ = world().duplicate();
  RollCall& roll_call_ = comm_.roll_call();
};

TEST_F(RollCallTest, RanksThatWaitInTheSameCallAreNotMissing) {
  const std::string text = text_of_rank_0([](int) { return "a sum"; });
  if (world().rank() == 0) { EXPECT_EQ(text, "all of them wait there, too"); }
}

TEST_F(RollCallTest, RanksThatWaitElsewhereAreNamedWithTheirCall) {
  const std::string text = text_of_rank_0([](int rank) { return rank == 0 ? "a sum" : "a vote"; });
  if (world().rank() != 0 || world().size() == 1) return;
  EXPECT_EQ(text.substr(text.find(" wait")), world().size() == 2 ? " waits in a vote" : " wait in a vote") << text;
}

TEST_F(RollCallTest, ALateAnswerToAnEarlierQuestionDoesNotCount) {
  const int last = world().size() - 1;
  const std::string silent = text_of_rank_0([&](int rank) { return rank == last && last > 0 ? "" : "a sum"; });
  const std::string missing = "rank " + std::to_string(last) + " is missing";
  if (world().rank() == 0 && last > 0) {
    EXPECT_EQ(silent, missing);
    EXPECT_TRUE(roll_call_.is_first_to_wait());
    roll_call_.ask();
  }
  MPI_Barrier(comm_.native());
  const std::string text = text_of_rank_0([](int) { return "a sum"; });  // also answers what was asked before
  if (world().rank() == 0) { EXPECT_EQ(text, "all of them wait there, too"); }
}

}  // namespace
}  // namespace trainhook::mpi::detail
