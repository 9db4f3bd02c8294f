// SPDX-License-Identifier: Apache-2.0
/// @file
/// mpi::BroadcastGlobalVariablesHook: all ranks start from the values of one.
#include <trainhook/mpi/broadcast_global_variables_hook.hpp>

#include <cstddef>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/model/ops/random.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/mpi/all_reduce.hpp>

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

TEST(BroadcastGlobalVariablesHook, LetsRandomOpsDrawTheNumbersOfTheirRank) {
  Graph graph;
  const Output uniform = random_uniform(graph, Shape{1}, {.dtype = DType::Double, .seed = 3});
  auto session = monitored_training_session<EigenSession>(graph, {.hooks = {BroadcastGlobalVariablesHook(world())}});
  std::vector<double> drawn(static_cast<std::size_t>(world().size()));
  drawn[static_cast<std::size_t>(world().rank())] = session.run(uniform).data<double>()[0];
  all_reduce(drawn, Reduction::Sum, world());
  EXPECT_EQ(std::set<double>(drawn.begin(), drawn.end()).size(), drawn.size());
  session.close();
}

TEST(BroadcastGlobalVariablesHook, OfARankThatIsNotThereIsAnError) {
  EXPECT_THROW(BroadcastGlobalVariablesHook(world(), world().size()), InvalidArgumentError);
  EXPECT_THROW(BroadcastGlobalVariablesHook(world(), -1), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook::mpi
