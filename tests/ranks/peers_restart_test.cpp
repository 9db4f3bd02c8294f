// SPDX-License-Identifier: Apache-2.0
/// @file
/// A job whose variables change their size, and that is started again with another rate.
#include <trainhook/ranks/peers.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/ranks/testing/threaded_ranks.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

constexpr int kRanks = 2;

using Points = std::vector<double>;

/// Each step adds a point to those of each rank. Returns those of all ranks.
std::vector<Points> points_of_job(testing::MemoryFileSystem& disk, double initial_rate, std::int64_t last_step) {
  std::vector<Points> all(kRanks);
  const auto errors = testing::ThreadedRanks(kRanks).run([&](const std::shared_ptr<Collective>& collective) {
    Points& points = all[static_cast<std::size_t>(collective->rank())];
    double rate = initial_rate;
    LoopSession loop;
    loop.variable("points", points, {.resizable = true});
    loop.variable("rate", rate, {.on_resume = OnResume::KeepInitial});
    MonitoredTrainingSessionOptions options{.peers = ranks::peers(collective), .checkpoint_dir = "run"};
    options.save_checkpoint_steps = 2;
    options.hooks = {StopAtStepHook({.last_step = last_step})};
    options.file_system = &disk;
    auto session = monitored_training_session(loop, options);
    run_until_stop(session, [&] { session.run([&] { points.push_back(rate); }); });
  });
  for (const std::exception_ptr& error : errors)
    if (error != nullptr) std::rethrow_exception(error);
  return all;
}

TEST(RestartOfRanks, GoesOnWithPointsOfTheCheckpointAndTheRateOfTheProgram) {
  const testing::LogLines log;
  testing::MemoryFileSystem disk;
  EXPECT_EQ(points_of_job(disk, 0.5, 3), std::vector<Points>(kRanks, {0.5, 0.5, 0.5}));
  EXPECT_EQ(points_of_job(disk, 0.25, 5), std::vector<Points>(kRanks, {0.5, 0.5, 0.5, 0.25, 0.25}));
  EXPECT_EQ(log.count("The program's values go before those of run/model.ckpt-3"), 1U);
}

}  // namespace
}  // namespace trainhook
