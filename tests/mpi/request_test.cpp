// SPDX-License-Identifier: Apache-2.0
/// @file
/// Request: waiting for MPI, and giving up.
#include <trainhook/mpi/request.hpp>

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

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

}  // namespace
}  // namespace trainhook::mpi::detail
