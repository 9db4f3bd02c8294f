// SPDX-License-Identifier: Apache-2.0
/// @file
/// A hook of any rank can keep the model of a job from being saved.
#include <trainhook/ranks/peers.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_listener.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/nan_tensor_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/ranks/testing/threaded_ranks.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using Options = MonitoredTrainingSessionOptions;
using Steps = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;

/// Objects to the models of some steps.
class Objects final : public SessionRunHook {
 public:
  explicit Objects(std::set<std::int64_t> steps) : steps_(std::move(steps)) {}
  void after_create_session(SessionRef session, Coordinator& /*coordinator*/) override {
    step_ = read_global_step(session, *get_global_step(session.graph()));
  }
  void after_run(SessionRunContext& context, const SessionRunValues& /*values*/) override {
    step_ = context.global_step();
  }
  [[nodiscard]] std::optional<std::string> veto_save() override {
    return steps_.contains(step_) ? std::optional<std::string>("not now") : std::nullopt;
  }

 private:
  std::set<std::int64_t> steps_;
  std::int64_t step_ = 0;
};

/// The steps whose models were saved.
class Saved final : public CheckpointSaverListener {
 public:
  bool after_save(SessionRef /*session*/, std::int64_t step) override {
    steps.push_back(step);
    return false;
  }
  Steps steps;
};

class RanksVetoTest : public ::testing::Test {
 protected:
  using Change = std::function<void(int rank, Options& options)>;
  enum class Writes { AtOnce, Later };

  /// Trains to `last_step`, saving every 2 steps, with what `change` adds; returns the steps that were saved.
  Steps train(int size, std::int64_t last_step, const Change& change) {
    const auto saved = std::make_shared<Saved>();
    ranks = std::make_unique<testing::ThreadedRanks>(size);
    errors.assign(static_cast<std::size_t>(size), "");
    num_steps.assign(static_cast<std::size_t>(size), 0);
    ranks->run([&](const std::shared_ptr<Collective>& collective) {
      const auto rank = static_cast<std::size_t>(collective->rank());
      std::vector<float> weights(100);
      std::vector<float> slots(100);
      std::mt19937 noise(static_cast<unsigned>(rank));
      LoopSession loop;
      loop.variable("weights", weights);
      loop.variable("slots", slots);
      loop.state("noise", noise);
      loop.value("loss", [&] { return loss ? loss(collective->rank(), weights[0]) : 0.0F; });
      Options options{
          .peers = ranks::peers(collective, {.agree_every_n_steps = agree_every_n_steps, .max_wait_secs = 60s}),
          .checkpoint_dir = "run",
          .file_system = &*disk};
      options.hooks = {StopAtStepHook({.last_step = last_step})};
      CheckpointSaverOptions saves{.checkpoint_dir = "run", .save_steps = 2, .listeners = {saved}};
      saves.overlap = SaveOverlap::Wait;
      saves.saver = std::make_shared<Saver>(saver);
      if (rank == 0 && writes == Writes::AtOnce) options.chief_only_hooks = {CheckpointSaverHook(saves)};
      if (rank == 0 && writes == Writes::Later) options.chief_only_hooks = {AsyncCheckpointSaverHook(saves)};
      try {
        change(collective->rank(), options);
        auto session = monitored_training_session(loop, options);
        run_until_stop(session, [&] {
          session.run([&] {
            for (float& weight : weights) ++weight;
          });
          ++num_steps[rank];
        });
      } catch (...) { errors[rank] = describe(std::current_exception()); }
    });
    return saved->steps;
  }

  static Change objecting(int rank, std::set<std::int64_t> steps) {
    return [rank, steps = std::move(steps)](int number, Options& options) {
      if (number == rank) options.hooks.emplace_back(std::make_shared<Objects>(steps));
    };
  }

  void expect_left_out_at(std::int64_t step, int rank) {
    EXPECT_EQ(errors, Strings(errors.size()));
    EXPECT_EQ(ranks->why_it_was_ended(), "");
    EXPECT_EQ(log.count("the model of step " + std::to_string(step) + " is not saved: rank " + std::to_string(rank) +
                        ": not now"),
              1U);
    EXPECT_EQ(log.count("is not saved"), 1U);
  }

  Writes writes = Writes::AtOnce;
  SaverOptions saver;
  std::int64_t agree_every_n_steps = 1;
  testing::LogLines log;
  std::function<float(int rank, float weight)> loss;
  std::optional<testing::MemoryFileSystem> disk{std::in_place};
  std::unique_ptr<testing::ThreadedRanks> ranks;
  Strings errors;
  Steps num_steps;
};

TEST_F(RanksVetoTest, OfAnotherRankCounts) {
  EXPECT_EQ(train(3, 6, objecting(2, {2})), (Steps{0, 3, 5, 6}));  // as soon as it may be, and two steps later
  expect_left_out_at(2, 2);
}

TEST_F(RanksVetoTest, OfAnotherRankCountsInTheBackground) {
  writes = Writes::Later;
  EXPECT_EQ(train(3, 6, objecting(1, {2, 3})), (Steps{0, 4, 6}));
  expect_left_out_at(2, 1);
}

TEST_F(RanksVetoTest, OfAnotherRankCountsForAShardedCheckpoint) {
  saver.sharded = true;
  for (const Writes how : {Writes::AtOnce, Writes::Later}) {
    writes = how;
    log.lines.clear();
    disk.emplace();
    EXPECT_EQ(train(3, 6, objecting(1, {4})), (Steps{0, 2, 5, 6}));
    expect_left_out_at(4, 1);
    for (const std::string& path : disk->files()) EXPECT_EQ(path.find("ckpt-4"), std::string::npos) << path;
  }
}

TEST_F(RanksVetoTest, IsForTheStepThatIsSavedHoweverRarelyRanksAgree) {
  agree_every_n_steps = 5;
  EXPECT_EQ(train(2, 6, objecting(1, {1, 3, 4, 5})), (Steps{0, 2, 6}));
  expect_left_out_at(4, 1);
}

TEST_F(RanksVetoTest, CountsForASaverOfSomeVariables) {
  saver.kinds = {StateKind::Variable};
  EXPECT_EQ(train(2, 4, objecting(1, {2})), (Steps{0, 3, 4}));
  expect_left_out_at(2, 1);
}

TEST_F(RanksVetoTest, CountsForAllHooksThatSave) {
  const auto other = std::make_shared<Saved>();
  const auto both = [&](int rank, Options& options) {
    objecting(1, {2})(rank, options);
    if (rank == 0)
      options.chief_only_hooks.emplace_back(
          CheckpointSaverHook({.checkpoint_dir = "other", .save_steps = 2, .listeners = {other}}));
  };
  EXPECT_EQ(train(2, 4, both), (Steps{0, 3, 4}));
  EXPECT_EQ(other->steps, (Steps{0, 3, 4}));
}

TEST_F(RanksVetoTest, CountsForTheFirstAndTheLastModel) {
  EXPECT_EQ(train(2, 4, objecting(1, {0, 4})), (Steps{1, 3}));
  EXPECT_EQ(log.count("the model of step 0 is not saved: rank 1: not now"), 1U);
  EXPECT_EQ(log.count("the model of step 4 is not saved: rank 1: not now"), 1U);
}

TEST_F(RanksVetoTest, OfTheFirstRankIsNamed) {
  const auto both = [](int rank, Options& options) {
    for (const int number : {1, 2}) objecting(number, {2})(rank, options);
  };
  EXPECT_EQ(train(3, 4, both), (Steps{0, 3, 4}));
  expect_left_out_at(2, 1);
}

TEST_F(RanksVetoTest, OfTheChiefAsksNoOtherRank) {
  EXPECT_EQ(train(2, 4, objecting(0, {2})), (Steps{0, 3, 4}));
  EXPECT_EQ(log.count("the model of step 2 is not saved: not now"), 1U);
}

TEST_F(RanksVetoTest, TakesNoReductionOfItsOwn) {
  train(2, 7, [](int, Options&) {});
  const int without = ranks->num_reductions();
  disk.emplace();
  train(2, 7, objecting(1, {3, 5}));  // steps at which nothing is saved
  EXPECT_EQ(ranks->num_reductions(), without);
}

TEST_F(RanksVetoTest, OfARankWhoseInputEndsMeanwhileCounts) {
  const auto ends_early = [](int rank, Options& options) {
    objecting(1, {3})(rank, options);
    if (rank == 1)
      options.hooks.emplace_back(LambdaHook({.before_run = [](SessionRunContext& context) -> SessionRunArgs {
        if (context.global_step() == 3) throw OutOfRangeError("no more");
        return {};
      }}));
  };
  EXPECT_EQ(train(3, 9, ends_early), (Steps{0, 2}));
  EXPECT_EQ(num_steps, (Steps{4, 3, 4}));
  EXPECT_EQ(errors, Strings(3));
}

TEST_F(RanksVetoTest, ANaNOfOneRankKeepsTheLastGoodModel) {
  loss = [](int rank, float weight) {
    return rank == 1 && weight >= 5 ? std::numeric_limits<float>::quiet_NaN() : weight;
  };
  const auto watched = [](int, Options& options) {
    options.hooks.emplace_back(NanTensorHook("loss", {.fail_on_nan_loss = false}));
  };
  EXPECT_EQ(train(2, 9, watched), (Steps{0, 2, 4}));
  EXPECT_EQ(errors, Strings(2));
  EXPECT_EQ(num_steps, (Steps{5, 5}));
  EXPECT_EQ(latest_checkpoint(*disk, "run"), "run/model.ckpt-4");
}

}  // namespace
}  // namespace trainhook
