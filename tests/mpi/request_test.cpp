// SPDX-License-Identifier: Apache-2.0
/// @file
/// Request: waiting for MPI, and giving up.
#include <trainhook/mpi/request.hpp>

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/mpi/communicator.hpp>
#include <trainhook/mpi/roll_call.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>

#include "world.hpp"

namespace trainhook::mpi::detail {
namespace {

using namespace std::chrono_literals;
using trainhook::testing::world;

TEST(Request, WaitsUntilItIsDone) {
  int value = world().rank() + 5;
  Request request("MPI_Ibcast", world().rank());
  expect_success(MPI_Ibcast(&value, 1, MPI_INT, 0, world().native(), request.native()), "MPI_Ibcast", world().rank());
  request.wait(60s);
  EXPECT_EQ(value, 5);
}

TEST(Request, GivesUpAtTheDeadlineAndNamesTheCall) {
  int value = 0;  // a message of a rank to itself, which comes later
  Request request("MPI_Irecv", world().rank());
  expect_success(MPI_Irecv(&value, 1, MPI_INT, world().rank(), 0, world().native(), request.native()), "MPI_Irecv", 0);
  try {
    request.wait(0s);
    ADD_FAILURE() << "no error";
  } catch (const DeadlineExceededError& error) {
    EXPECT_EQ(std::string(error.what()),
              "rank " + std::to_string(world().rank()) + " has waited 0 s in MPI_Irecv for other ranks");
  }
  const int sent = 7;
  expect_success(MPI_Send(&sent, 1, MPI_INT, world().rank(), 0, world().native()), "MPI_Send", 0);
  request.wait(60s);
  EXPECT_EQ(value, 7);
}

/// Waits on all ranks but the last one, for as many seconds by a clock of its own; each question whether it is over
/// takes a second and looks for messages once, as the last rank does.
std::string error_after(int seconds, Duration max_wait) {
  const Communicator comm = world().duplicate();
  trainhook::testing::ManualClock clock;
  int looks = 0;
  std::string text;
  const auto is_over = [&] {
    if (++looks > 64) clock.advance(1s);  // the first ones come before the wait
    MPI_Barrier(comm.native());           // so that questions and answers arrive
    return looks > 64 + seconds;
  };
  if (comm.rank() == comm.size() - 1) {
    while (!is_over()) continue;
    return text;
  }
  try {
    wait_until(is_over, "a test", comm.rank(), max_wait, &comm.roll_call(), clock);
  } catch (const DeadlineExceededError& error) { text = error.what(); }
  while (looks <= 64 + seconds && !is_over()) continue;
  return text;
}

TEST(Request, AfterAMinuteTheFirstRankThatWaitsNamesTheMissing) {
  if (world().size() < 2) GTEST_SKIP() << "nobody can be missing";
  trainhook::testing::LogLines log;
  EXPECT_EQ(error_after(125, 7200s), "");
  const std::string missing = "rank " + std::to_string(world().size() - 1) + " is missing";
  for (const char* seconds : {"60", "120"}) {
    EXPECT_EQ(
        log.count(std::string("W [rank 0] rank 0 has waited ") + seconds + " s in a test for other ranks: " + missing),
        world().rank() == 0 ? 1U : 0U);
  }
  EXPECT_EQ(log.lines.size(), world().rank() == 0 ? 2U : 0U);
}

TEST(Request, TheErrorNamesTheMissing) {
  if (world().size() < 2) GTEST_SKIP() << "nobody can be missing";
  const std::string rank = std::to_string(world().rank());
  const std::string missing = "rank " + std::to_string(world().size() - 1) + " is missing";
  EXPECT_EQ(error_after(20, 10s), world().rank() == world().size() - 1
                                      ? ""
                                      : "rank " + rank + " has waited 10 s in a test for other ranks: " + missing);
}

}  // namespace
}  // namespace trainhook::mpi::detail
