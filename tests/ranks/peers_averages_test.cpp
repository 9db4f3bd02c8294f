// SPDX-License-Identifier: Apache-2.0
/// @file
/// Moving averages in a job whose ranks have parts of a tensor: any other cut has the same averages.
#include <trainhook/ranks/peers.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/hooks/exponential_moving_average_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/ranks/testing/threaded_ranks.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

constexpr std::int64_t kRows = 3;  // of four ranks, one has none

/// A job that goes on to `last_step`; returns the averages of all rows.
std::vector<double> averages_of_job(testing::MemoryFileSystem& disk, int size, std::int64_t last_step) {
  std::vector<double> all(static_cast<std::size_t>(kRows));
  std::mutex mutex;
  const auto errors = testing::ThreadedRanks(size).run([&](const std::shared_ptr<Collective>& collective) {
    const std::int64_t begin = kRows * collective->rank() / size;
    const std::int64_t end = kRows * (collective->rank() + 1) / size;
    std::vector<double> rows(static_cast<std::size_t>(end - begin));
    LoopSession loop;
    loop.variable("rows", std::span(rows),
                  {.shape = {end - begin}, .part_of = {.shape = {kRows}, .offset = {begin}, .name = "field"}});
    const auto hook = make_hook<ExponentialMovingAverageHook>({.decay = 0.5});
    MonitoredTrainingSessionOptions options{.peers = ranks::peers(collective), .checkpoint_dir = "run"};
    options.save_checkpoint_steps = 100;
    options.save_summaries_steps = 0;
    options.hooks = {StopAtStepHook({.last_step = last_step}), hook};
    options.file_system = &disk;
    auto session = monitored_training_session(loop, options);
    run_until_stop(session, [&] {
      session.run([&] {
        for (std::size_t i = 0; i < rows.size(); ++i) rows[i] += static_cast<double>(begin) + static_cast<double>(i);
      });
    });
    const std::scoped_lock lock(mutex);
    const auto values = hook->averages()[0].tensor.data<double>();
    for (std::size_t i = 0; i < values.size(); ++i) all[static_cast<std::size_t>(begin) + i] = values[i];
  });
  for (const std::exception_ptr& error : errors)
    if (error != nullptr) std::rethrow_exception(error);
  return all;
}

TEST(AveragesOfParts, AreTheSameInAnyNumberOfRanks) {
  testing::MemoryFileSystem whole_disk;
  const std::vector<double> whole = averages_of_job(whole_disk, 1, 8);
  EXPECT_NE(whole[2], 0);
  testing::LogLines log;
  testing::MemoryFileSystem disk;
  averages_of_job(disk, 2, 2);
  averages_of_job(disk, 3, 4);
  averages_of_job(disk, 1, 5);
  averages_of_job(disk, 4, 6);
  EXPECT_EQ(averages_of_job(disk, 2, 8), whole);
  EXPECT_EQ(log.count("no average of"), 0U);
}

}  // namespace
}  // namespace trainhook
