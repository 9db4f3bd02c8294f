// SPDX-License-Identifier: Apache-2.0
/// @file
/// Runs the tests of all files of this folder on every rank.
#include <gtest/gtest.h>

#include <trainhook/mpi/runtime.hpp>

#include "world.hpp"

namespace {

const trainhook::mpi::Communicator* all_ranks = nullptr;

}  // namespace

const trainhook::mpi::Communicator& trainhook::testing::world() { return *all_ranks; }

int main(int argc, char** argv) {
  const trainhook::mpi::Runtime runtime(argc, argv);
  ::testing::InitGoogleTest(&argc, argv);
  all_ranks = &runtime.world();
  return RUN_ALL_TESTS();
}
