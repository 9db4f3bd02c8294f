// SPDX-License-Identifier: Apache-2.0
/// @file
/// Random ops of a graph in a job of several ranks, beside one process with the whole batch.
#include <trainhook/ranks/peers.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/model/ops/array.hpp>
#include <trainhook/model/ops/random.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/ranks/testing/threaded_ranks.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using Steps = std::vector<std::vector<float>>;

constexpr std::int64_t kRows = 12;

/// What dropout leaves of a global batch of ones in each step, the rows of all ranks one after the other, and then the
/// initial weights.
Steps drop(int size, std::int64_t last_step, testing::MemoryFileSystem& disk) {
  std::vector<Steps> of_ranks(static_cast<std::size_t>(size));
  testing::ThreadedRanks ranks(size);
  const auto errors = ranks.run([&](const std::shared_ptr<Collective>& collective) {
    Graph graph;
    graph.set_random_seed(4);
    const Output batch = placeholder(graph, DType::Float, {kUnknownDim, 3}, "batch");
    const Variable weights = make_variable("weights", truncated_normal(graph, Shape{3}));
    const Output dropped = dropout(batch, 0.5);
    const Variable step = get_or_create_global_step(graph);
    const Output next = assign_add(step, 1);
    MonitoredTrainingSessionOptions options{
        .peers = ranks::peers(collective, {.max_wait_secs = 60s}), .checkpoint_dir = "run", .file_system = &disk};
    options.hooks = {StopAtStepHook({.last_step = last_step})};
    auto session = monitored_training_session<EigenSession>(graph, options);
    Steps& mine = of_ranks[static_cast<std::size_t>(collective->rank())];
    const auto keep = [&mine](const Tensor& value) {
      mine.emplace_back(value.data<float>().begin(), value.data<float>().end());
    };
    Tensor rows(DType::Float, Shape{kRows / size, 3});
    for (float& value : rows.overwrite_data<float>()) value = 1;
    const Tensor initial = session.raw_session().run(weights.read);
    while (!session.should_stop()) keep(session.run({dropped, next}, {{batch, rows}})[0]);
    session.close();
    if (collective->rank() == 0) keep(initial);
  });
  for (const std::exception_ptr& error : errors) EXPECT_EQ(error == nullptr ? "" : describe(error), "");
  Steps joined = of_ranks.front();
  for (std::size_t rank = 1; rank < of_ranks.size(); ++rank) {
    for (std::size_t i = 0; i < of_ranks[rank].size(); ++i)
      joined[i].insert(joined[i].end(), of_ranks[rank][i].begin(), of_ranks[rank][i].end());
  }
  return joined;
}

TEST(RandomOps, OfAJobDrawWhatOneProcessDraws) {
  testing::MemoryFileSystem disk;
  const Steps alone = drop(1, 4, disk);
  for (const int size : {2, 4}) {
    testing::MemoryFileSystem other;
    EXPECT_EQ(drop(size, 4, other), alone) << size;
  }
}

TEST(RandomOps, GoOnWithAnotherNumberOfRanks) {
  testing::MemoryFileSystem disk;
  const Steps whole = drop(1, 6, disk);
  testing::MemoryFileSystem other;
  Steps parts;
  std::int64_t last = 0;
  for (const int size : {2, 4, 1}) {
    const Steps some = drop(size, last += 2, other);
    parts.insert(parts.end(), some.begin(), some.end() - 1);
  }
  EXPECT_EQ(parts, Steps(whole.begin(), whole.end() - 1));
}

}  // namespace
}  // namespace trainhook
