// SPDX-License-Identifier: Apache-2.0
/// @file
/// ThroughputHook: the rates and times that it reports, and where they go.
#include <trainhook/watch/throughput_hook.hpp>

#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/session/hook_services.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using Lines = std::vector<std::string>;

struct Measured : support::Process {
  support::LogLines log;

  void run_timed(int times, double seconds) {
    for (int i = 0; i < times; ++i) {
      advance_clock(seconds);
      run();
    }
  }
  /// The events without the memory, which differs.
  Lines finish() {
    end();
    Lines lines = support::event_lines(*this, "run");
    std::erase_if(lines, [](const std::string& line) { return line.find("memory/") != std::string::npos; });
    return lines;
  }
};

TEST(ThroughputHook, RefusesBadOptions) {
  const auto total = [] { return 1.0; };
  EXPECT_THROW(ThroughputHook({.every_n_steps = 10, .every_n_secs = 1s}), InvalidArgumentError);
  EXPECT_THROW(ThroughputHook({.every_n_steps = 0}), InvalidArgumentError);
  EXPECT_THROW(ThroughputHook({.samples_per_step = -1}), InvalidArgumentError);
  EXPECT_THROW(ThroughputHook({.tokens_per_step = std::nan("")}), InvalidArgumentError);
  EXPECT_THROW(ThroughputHook({.samples_per_step = 2, .total_samples = total}), InvalidArgumentError);
  EXPECT_THROW(ThroughputHook({.last_step = -1}), InvalidArgumentError);
}

TEST(ThroughputHook, MeasuresStepsSamplesAndTheTimeLeft) {
  Measured training;
  training.add(ThroughputHook({.every_n_steps = 10, .samples_per_step = 32, .last_step = 100, .output_dir = "run"}));
  training.start();
  training.run_timed(20, 0.5);
  EXPECT_THAT(training.finish(), ElementsAre("10 throughput/batches_per_sec=2", "10 throughput/samples_per_sec=64",
                                             "10 time/remaining_estimate=45", "20 throughput/batches_per_sec=2",
                                             "20 throughput/samples_per_sec=64", "20 time/remaining_estimate=40"));
  ASSERT_EQ(training.log.lines.size(), 2U);
  EXPECT_THAT(training.log.lines[0], ::testing::StartsWith("I step 10: 2 batches/s, 64 samples/s, 45 s left, "));
}

TEST(ThroughputHook, CountsWhatAFunctionSays) {
  Measured training;
  double samples = 1'000;  // of an earlier process
  double tokens = 0;
  training.add(ThroughputHook({.every_n_secs = 2s,
                               .total_samples = [&] { return samples; },
                               .total_tokens = [&] { return tokens; },
                               .output_dir = "run",
                               .log = false}));
  training.start();
  for (int i = 1; i <= 4; ++i) {
    samples += 10 * i;
    tokens += 100;
    training.run_timed(1, 1);
  }
  EXPECT_THAT(training.finish(), ElementsAre("2 throughput/batches_per_sec=1", "2 throughput/samples_per_sec=15",
                                             "2 throughput/tokens_per_sec=100", "4 throughput/batches_per_sec=1",
                                             "4 throughput/samples_per_sec=35", "4 throughput/tokens_per_sec=100"));
  EXPECT_TRUE(training.log.lines.empty());
}

TEST(ThroughputHook, KnowsTheShareOfTheTimeThatWaitsForInput) {
  Measured training;
  WaitTimer waiting(training.clock);
  training.add(ThroughputHook({.every_n_steps = 2, .input_wait = &waiting, .output_dir = "run"}));
  training.start();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(waiting.time([&] {
      training.advance_clock(1);
      return 7;
    }),
              7);
    training.run_timed(1, 3);
  }
  EXPECT_EQ(waiting.total(), 2s);
  EXPECT_THAT(training.finish(), ElementsAre("2 throughput/batches_per_sec=0.25", "2 time/input_wait_share=0.25"));
}

TEST(ThroughputHook, AWaitThatThrowsIsCounted) {
  testing::ManualClock clock;
  WaitTimer waiting(clock);
  EXPECT_THROW(waiting.time([&]() -> int {
    clock.advance(2s);
    throw OutOfRangeError("end");
  }),
               OutOfRangeError);
  EXPECT_EQ(waiting.total(), 2s);
}

TEST(ThroughputHook, PublishesForOtherHooksAndNotForCheckpoints) {
  Measured training;
  training.add(ThroughputHook({.every_n_steps = 1, .tokens_per_step = 5}));
  training.start();
  training.run_timed(1, 0.5);
  const PublishedMetric* const rate = training.services.metric("throughput/tokens_per_sec");
  ASSERT_NE(rate, nullptr);
  EXPECT_EQ(rate->step, 1);
  EXPECT_EQ(rate->value, 10);
  EXPECT_FALSE(rate->is_kept);
  const PublishedMetric* const memory = training.services.metric("memory/resident_bytes");
  if (detail::resident_bytes()) {
    ASSERT_NE(memory, nullptr);
    EXPECT_GT(memory->value, 1e6);
  }
}

TEST(ThroughputHook, MeasuresAfterARecoveryFromItsStepOn) {
  Measured training;
  training.add(ThroughputHook({.every_n_steps = 10, .output_dir = "run"}));
  training.start();
  training.run_timed(15, 1);
  training.set_step(5);
  training.create();
  training.run_timed(10, 0.5);
  EXPECT_THAT(training.finish(), ElementsAre("10 throughput/batches_per_sec=1", "15 throughput/batches_per_sec=2"));
}

}  // namespace
}  // namespace trainhook
