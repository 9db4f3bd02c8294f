// SPDX-License-Identifier: Apache-2.0
/// @file
/// mpi::BroadcastGlobalVariablesHook: all ranks start from the values of one.
#include <trainhook/mpi/broadcast_global_variables_hook.hpp>

#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>

#include "world.hpp"

namespace trainhook::mpi {
namespace {

using trainhook::testing::world;

TEST(BroadcastGlobalVariablesHook, GivesAllRanksTheValuesOfTheRoot) {
  for (int root = 0; root < world().size(); ++root) {
    std::vector<float> weights = {static_cast<float>(world().rank()), 5};
    LoopSession loop;
    loop.variable("weights", weights);
    auto session = monitored_training_session(loop, {.hooks = {BroadcastGlobalVariablesHook(world(), root)}});
    EXPECT_EQ(weights, (std::vector<float>{static_cast<float>(root), 5}));
    session.close();
  }
}

TEST(BroadcastGlobalVariablesHook, OfARankThatIsNotThereIsAnError) {
  EXPECT_THROW(BroadcastGlobalVariablesHook(world(), world().size()), InvalidArgumentError);
  EXPECT_THROW(BroadcastGlobalVariablesHook(world(), -1), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook::mpi
