// SPDX-License-Identifier: Apache-2.0
/// @file
/// Runtime: a second one in the same process; endings.cpp has the rest.
#include <trainhook/mpi/runtime.hpp>

#include <gtest/gtest.h>

#include "world.hpp"

namespace trainhook::mpi {
namespace {

using trainhook::testing::world;

TEST(Runtime, ASecondOneUsesTheFirst) {
  int argc = 0;
  char** argv = nullptr;
  {
    const Runtime second(argc, argv);
    EXPECT_EQ(second.world().rank(), world().rank());
    EXPECT_EQ(second.world().size(), world().size());
  }
  EXPECT_TRUE(detail::is_running());
}

}  // namespace
}  // namespace trainhook::mpi
