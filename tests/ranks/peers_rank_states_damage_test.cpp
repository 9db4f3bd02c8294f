// SPDX-License-Identifier: Apache-2.0
/// @file
/// A checkpoint counts for a job if it is whole for all ranks: what is damaged for one is damaged for all.
#include <trainhook/ranks/peers.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/ranks/testing/threaded_ranks.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using Steps = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;

/// Counts its runs; has no state before the first one.
class Runs final : public SessionRunHook {
 public:
  void after_run(SessionRunContext& /*context*/, const SessionRunValues& /*values*/) override {
    count = count.value_or(0) + 1;
  }
  [[nodiscard]] StateValues save_state() override {
    StateValues state;
    if (count) state.set("count", Tensor(*count));
    return state;
  }
  void load_state(const StateValues& state) override { count = state.at("count").scalar<std::int64_t>(); }
  std::optional<std::int64_t> count;
};

class DamagedRankStatesTest : public ::testing::Test {
 protected:
  /// Trains to `last_step`, saving every 2 steps.
  void train(int size, std::int64_t last_step) {
    testing::ThreadedRanks ranks(size);
    const auto number_of_ranks = static_cast<std::size_t>(size);
    errors.assign(number_of_ranks, "");
    first_steps.assign(number_of_ranks, -1);
    first_counts.assign(number_of_ranks, -1);
    drawn.assign(number_of_ranks, {});
    ranks.run([&](const std::shared_ptr<Collective>& collective) {
      const auto rank = static_cast<std::size_t>(collective->rank());
      std::vector<float> weights(100);
      std::vector<float> slots(100);
      std::mt19937 noise(static_cast<unsigned>(rank));
      LoopSession loop;
      loop.variable("weights", weights);
      loop.variable("slots", slots);
      loop.state("noise", noise);
      const auto runs = std::make_shared<Runs>();
      MonitoredTrainingSessionOptions options{
          .peers = ranks::peers(collective, {.max_wait_secs = 60s}), .checkpoint_dir = "run", .file_system = &disk};
      options.hooks = {StopAtStepHook({.last_step = last_step}), runs};
      if (rank == 0) {
        const auto saver = std::make_shared<Saver>(SaverOptions{.sharded = sharded, .max_to_keep = 0});
        options.chief_only_hooks = {CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 2, .saver = saver})};
      }
      try {
        auto session = monitored_training_session(loop, options);
        first_steps[rank] = session.global_step();
        first_counts[rank] = runs->count.value_or(-1);
        run_until_stop(session, [&] {
          session.run([&] {
            for (float& weight : weights) ++weight;
            drawn[rank].push_back(static_cast<std::int64_t>(noise()));
          });
        });
        for (const float weight : weights) EXPECT_EQ(weight, static_cast<float>(last_step));
      } catch (...) { errors[rank] = describe(std::current_exception()); }
    });
    EXPECT_EQ(ranks.why_it_was_ended(), "");
  }

  static std::string checkpoint(std::int64_t step) { return "run/model.ckpt-" + std::to_string(step); }

  /// Changes a byte of the state of that rank; 0 is the chief.
  void damage(std::int64_t step, int rank) {
    const std::string name =
        rank == 0 ? "_trainhook/state/noise" : "_trainhook/ranks/" + std::to_string(rank) + "/_trainhook/state/noise";
    const BundleReader reader(checkpoint(step), {.file_system = &disk});
    const BundleEntry entry = reader.entry(name);
    for (const std::string& path : disk.files()) {
      if (path.find(checkpoint(step) + ".data-0000" + std::to_string(entry.shard_id)) != 0) continue;
      std::string bytes = disk.contents(path);
      bytes[entry.offset + entry.size / 2] ^= 1;
      disk.write_file(path, bytes);
    }
    EXPECT_THROW(BundleReader(checkpoint(step), {.file_system = &disk}).verify(), DataLossError);
  }

  /// All have begun at that step, with the state of that step, and then trained to `last_step`.
  void expect_resumed_at(std::int64_t step, std::size_t size) {
    EXPECT_EQ(errors, Strings(size));
    EXPECT_EQ(first_steps, Steps(size, step));
    EXPECT_EQ(first_counts, Steps(size, step > 0 ? step : -1));
    for (std::size_t rank = 0; rank < size; ++rank) {
      std::mt19937 noise(static_cast<unsigned>(rank));
      noise.discard(static_cast<unsigned long long>(step));
      ASSERT_FALSE(drawn[rank].empty());
      EXPECT_EQ(drawn[rank].front(), static_cast<std::int64_t>(noise())) << "rank " << rank;
    }
  }

  bool sharded = false;
  testing::LogLines log;
  testing::MemoryFileSystem disk;
  Strings errors;
  Steps first_steps;
  Steps first_counts;
  std::vector<Steps> drawn;
};

TEST_F(DamagedRankStatesTest, OfOneRankMakeAllGoBackToTheCheckpointBefore) {
  train(3, 6);
  damage(6, 1);
  train(3, 8);
  expect_resumed_at(4, 3);
  EXPECT_EQ(log.count("checkpoint run/model.ckpt-6 is skipped: rank 1: checkpoint file "
                      "run/model.ckpt-6.data-00000-of-00001 is damaged: tensor _trainhook/ranks/1/"),
            1U);
  EXPECT_EQ(log.count("is skipped"), 1U);
}

TEST_F(DamagedRankStatesTest, OfOneRankMakeAllGoBackIfTheCheckpointIsSharded) {
  sharded = true;
  train(3, 6);
  damage(6, 2);
  train(3, 8);
  expect_resumed_at(4, 3);
  EXPECT_EQ(log.count("checkpoint run/model.ckpt-6 is skipped: rank 2: "), 1U);
}

TEST_F(DamagedRankStatesTest, OfDifferentRanksMakeAllGoBackToTheNewestThatIsWholeForAll) {
  train(3, 8);
  damage(8, 2);
  damage(6, 0);
  damage(4, 1);
  train(3, 9);
  expect_resumed_at(2, 3);
  EXPECT_EQ(log.count("checkpoint run/model.ckpt-8 is skipped: rank 2: "), 1U);
  EXPECT_EQ(log.count("checkpoint run/model.ckpt-6 is skipped: checkpoint file "), 1U);
  EXPECT_EQ(log.count("checkpoint run/model.ckpt-4 is skipped: rank 1: "), 1U);
}

TEST_F(DamagedRankStatesTest, LeaveNothingBehind) {
  train(2, 2);
  damage(2, 1);
  train(2, 3);  // begins at step 0, whose checkpoint has no state of the hook
  expect_resumed_at(0, 2);
}

TEST_F(DamagedRankStatesTest, InAFileThatIsGoneMakeAllGoBack) {
  sharded = true;
  train(2, 4);
  disk.remove_file("run/model.ckpt-4.data-00001-of-00002");
  train(2, 5);
  expect_resumed_at(2, 2);
  EXPECT_EQ(log.count("checkpoint run/model.ckpt-4 is skipped: checkpoint run/model.ckpt-4 is incomplete: "), 1U);
}

TEST_F(DamagedRankStatesTest, OfARankThatIsGoneDoNotMatter) {
  train(3, 4);
  damage(4, 2);
  train(2, 5);
  expect_resumed_at(4, 2);
}

TEST_F(DamagedRankStatesTest, InAllCheckpointsEndAllByTheSameError) {
  train(3, 2);
  damage(0, 2);
  damage(2, 1);
  train(3, 4);
  const std::string problem =
      "none of the 2 checkpoints in run can be restored; repair one, or train into an empty directory. The newest is "
      "run/model.ckpt-2: rank 1: ";
  EXPECT_EQ(errors[0].find("DataLoss: " + problem), 0U) << errors[0];
  EXPECT_EQ(errors[1].find("DataLoss: rank 0 has failed: " + problem), 0U) << errors[1];
  EXPECT_EQ(errors[2], errors[1]);
}

}  // namespace
}  // namespace trainhook
