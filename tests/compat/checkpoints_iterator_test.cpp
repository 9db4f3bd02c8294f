// SPDX-License-Identifier: Apache-2.0
/// @file
/// checkpoints_iterator and wait_for_new_checkpoint: what they give, and how long they wait.
#include <trainhook/compat/checkpoints_iterator.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using Prefixes = std::vector<std::string>;

class CheckpointsIteratorTest : public ::testing::Test {
 protected:
  CheckpointsIteratorTest() { clock_.auto_advance(true); }

  void save(std::int64_t step, std::uint64_t shard_bytes = 0) {
    const std::string prefix = "run/model.ckpt-" + std::to_string(step);
    BundleWriter writer(prefix, {.file_system = &disk_, .shard_bytes = shard_bytes});
    writer.add("a", Tensor::of<float>({1, 2, 3, 4}));
    writer.add("b", Tensor::of<float>({1, 2, 3, 4}));
    writer.finish();
    update_checkpoint_state(disk_, "run", {.model_checkpoint_path = prefix});
  }

  CheckpointsIterator::Options within(std::optional<Duration> timeout) {
    return {.timeout = timeout, .file_system = &disk_, .clock = &clock_};
  }

  Prefixes all(const CheckpointsIterator::Options& options) {
    Prefixes prefixes;
    for (const std::string& prefix : checkpoints("run", options)) prefixes.push_back(prefix);
    return prefixes;
  }

  static CheckpointsIterator checkpoints(const std::string& directory, const CheckpointsIterator::Options& options) {
    return CheckpointsIterator(directory, options);
  }

  testing::LogLines log_;
  testing::MemoryFileSystem disk_;
  testing::ManualClock clock_;
};

TEST_F(CheckpointsIteratorTest, CI1_GivesNothingWithoutADirectory) {
  EXPECT_EQ(all(within(0s)), Prefixes{});
  EXPECT_TRUE(log_.lines.empty());
}

TEST_F(CheckpointsIteratorTest, CI2_GivesTheOneThatIsThere) {
  save(7);
  EXPECT_EQ(all(within(0s)), (Prefixes{"run/model.ckpt-7"}));
}

TEST_F(CheckpointsIteratorTest, CI4_ShardsCountOnce) {
  save(7, 16);
  EXPECT_TRUE(disk_.exists("run/model.ckpt-7.data-00001-of-00002"));
  EXPECT_EQ(all(within(0s)), (Prefixes{"run/model.ckpt-7"}));
}

TEST_F(CheckpointsIteratorTest, GivesEachNewOneUntilTheTimeIsOver) {
  save(1);
  Prefixes given;
  const Duration began = clock_.monotonic_now();
  for (const std::string& prefix : checkpoints("run", within(10s))) {
    given.push_back(prefix);
    if (given.size() == 1) save(2);
  }
  EXPECT_EQ(given, (Prefixes{"run/model.ckpt-1", "run/model.ckpt-2"}));
  EXPECT_EQ(clock_.monotonic_now() - began, 10s);
}

TEST_F(CheckpointsIteratorTest, KeepsTheIntervalBetweenTwo) {
  save(1);
  CheckpointsIterator::Options options = within(10s);
  options.min_interval_secs = 60s;
  CheckpointsIterator each = checkpoints("run", options);
  const Duration began = clock_.monotonic_now();
  EXPECT_EQ(each.next(), "run/model.ckpt-1");
  save(2);
  EXPECT_EQ(each.next(), "run/model.ckpt-2");
  EXPECT_EQ(clock_.monotonic_now() - began, 60s);
}

TEST_F(CheckpointsIteratorTest, AsksWhetherToWaitOn) {
  int asked = 0;
  CheckpointsIterator::Options options = within(5s);
  options.timeout_fn = [&] {
    if (++asked == 2) save(3);
    return asked == 3;
  };
  EXPECT_EQ(all(options), (Prefixes{"run/model.ckpt-3"}));
  EXPECT_EQ(asked, 3);
}

TEST_F(CheckpointsIteratorTest, WaitsForAnotherThanTheLast) {
  save(1);
  const WaitForCheckpointOptions options{.timeout = 3s, .file_system = &disk_, .clock = &clock_};
  EXPECT_EQ(wait_for_new_checkpoint("run", {}, options), "run/model.ckpt-1");
  EXPECT_EQ(wait_for_new_checkpoint("run", "run/model.ckpt-1", options), std::nullopt);
}

}  // namespace
}  // namespace trainhook
