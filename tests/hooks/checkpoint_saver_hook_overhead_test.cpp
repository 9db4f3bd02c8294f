// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointSaverHook with `max_save_overhead`: when it saves, whatever a save costs, and what it refuses.
#include <trainhook/hooks/checkpoint_saver_hook.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_listener.hpp>
#include <trainhook/testing/faulty_file_system.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using support::LogLines;
using Steps = std::vector<std::int64_t>;

/// A process whose saves take as long as `cost` says, and whose steps take a second.
struct Saving : support::Process {
  struct Slow final : CheckpointSaverListener {
    explicit Slow(Saving& owner) : process(&owner) {}
    void before_save(SessionRef /*session*/, std::int64_t step) override {
      process->saved.push_back(step);
      process->clock.advance(process->cost());
    }
    Saving* process;
  };

  CheckpointSaverOptions options(double share) {
    return {.checkpoint_dir = "run",
            .max_save_overhead = share,
            .saver = std::make_shared<Saver>(SaverOptions{.file_system = &disk}),
            .listeners = {std::make_shared<Slow>(*this)}};
  }
  void run_timed(int times) {
    for (int i = 0; i < times; ++i) {
      advance_clock(1);
      run();
    }
  }

  LogLines quiet;
  Steps saved;
  std::function<Duration()> cost = [] { return Duration(2s); };
};

TEST(MaxSaveOverhead, SavesAsSoonAsTheShareIsBelow) {
  Saving training;
  training.add(CheckpointSaverHook(training.options(0.1)));
  training.start().run(0);
  training.run_timed(60);
  EXPECT_EQ(training.saved, (Steps{0, 19, 38, 57})) << "2 s of 2 + 19 s";
}

TEST(MaxSaveOverhead, FollowsTheMeanCost) {
  Saving training;
  Duration next = 1s;
  training.cost = [&] { return std::exchange(next, Duration(next + 1s)); };
  training.add(CheckpointSaverHook(training.options(0.1)));
  training.start();
  training.run_timed(60);
  // 1 s; then the means 1.5 and 2 s, whose nine-fold must have passed.
  EXPECT_EQ(training.saved, (Steps{0, 10, 24, 43}));
}

TEST(MaxSaveOverhead, CountsWhatTheLoopWaitsForInTheBackgroundToo) {
  Saving training;
  const auto hook = std::make_shared<AsyncCheckpointSaverHook>(training.options(0.1));
  training.add(hook);
  training.start();
  for (int i = 0; i < 60; ++i) {
    hook->wait_until_written();
    training.run_timed(1);
  }
  EXPECT_EQ(training.saved, (Steps{0, 19, 38, 57}));
  training.end();
}

TEST(MaxSaveOverhead, ASaveThatReplacesAnotherCountsAndWaitsForTheWriter) {
  Saving training;
  std::mutex mutex;
  testing::FaultyFileSystem slow(training.disk);  // whose writer does not get on before the test lets it
  slow.set_callback([&](testing::FileOperation, const std::string&) { const std::scoped_lock lock(mutex); });
  CheckpointSaverOptions options = training.options(0.1);
  options.saver = std::make_shared<Saver>(SaverOptions{.file_system = &slow});
  options.overlap = SaveOverlap::Replace;
  const auto hook = std::make_shared<AsyncCheckpointSaverHook>(std::move(options));
  training.add(hook);
  training.start();
  hook->wait_until_written();
  training.run_timed(1);
  {
    const std::scoped_lock held(mutex);
    training.run_timed(60);
  }
  EXPECT_EQ(training.saved, (Steps{0, 19})) << "the second one is still being written";
  training.end();
}

TEST(MaxSaveOverhead, ASaveThatFailsCountsAndIsTriedLater) {
  Saving training;
  testing::FaultyFileSystem faulty(training.disk);
  CheckpointSaverOptions options = training.options(0.1);
  options.saver = std::make_shared<Saver>(SaverOptions{.file_system = &faulty});
  options.tolerated_save_failures = 3;
  training.add(CheckpointSaverHook(std::move(options)));
  training.start();
  faulty.fail_from(1);
  training.run_timed(60);
  EXPECT_EQ(training.saved, (Steps{0, 19, 38, 57}));
}

TEST(MaxSaveOverhead, KeepsTheShortestAndTheLongestPeriod) {
  Saving cheap;
  cheap.cost = [] { return Duration(1ms); };
  CheckpointSaverOptions options = cheap.options(0.5);
  options.shortest_save_period = 10s;
  cheap.add(CheckpointSaverHook(std::move(options)));
  cheap.start();
  cheap.run_timed(25);
  EXPECT_EQ(cheap.saved, (Steps{0, 10, 20}));
  Saving dear;
  dear.cost = [] { return Duration(5s); };
  options = dear.options(0.001);
  options.longest_save_period = 20s;
  dear.add(CheckpointSaverHook(std::move(options)));
  dear.start();
  dear.run_timed(50);
  EXPECT_EQ(dear.saved, (Steps{0, 15, 30, 45})) << "20 s from one save's beginning to the next one's";
}

TEST(MaxSaveOverhead, AResumedRunSavesOnceToMeasure) {
  Saving training;
  training.add(CheckpointSaverHook(training.options(0.1)));
  training.begin();
  training.set_step(0);
  training.create();
  training.run_timed(5);
  EXPECT_EQ(training.saved, Steps{0});
}

TEST(MaxSaveOverhead, RefusesWhatCannotBe) {
  const auto refused = [](CheckpointSaverOptions options) {
    options.checkpoint_dir = "run";
    EXPECT_THROW(CheckpointSaverHook{options}, InvalidArgumentError);
  };
  for (const double share : {0.0, -0.1, 1.0, std::numeric_limits<double>::quiet_NaN()})
    refused({.max_save_overhead = share});
  refused({.save_secs = 1s, .max_save_overhead = 0.1});
  refused({.save_steps = 1, .max_save_overhead = 0.1});
  refused({.save_steps = 1, .shortest_save_period = 1s});
  refused({.save_steps = 1, .longest_save_period = 1s});
  refused({.max_save_overhead = 0.1, .shortest_save_period = 2s, .longest_save_period = 1s});
  refused({.max_save_overhead = 0.1, .shortest_save_period = -1s});
  refused({.max_save_overhead = 0.1, .longest_save_period = 0s});
  refused({});
}

}  // namespace
}  // namespace trainhook
