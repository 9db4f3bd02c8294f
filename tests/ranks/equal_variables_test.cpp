// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of VariableDigests, and of jobs whose ranks come to train different models.
#include <trainhook/ranks/equal_variables.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/learning_rate_warm_up_hook.hpp>
#include <trainhook/hooks/scaffold.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/ranks/peers.hpp>
#include <trainhook/ranks/testing/threaded_ranks.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook::detail {
namespace {

using namespace std::chrono_literals;
using Options = MonitoredTrainingSessionOptions;
using Strings = std::vector<std::string>;

TEST(VariableDigests, AreOfWhatMustBeEqualAndTellWhatDiffers) {
  LoopSession loop;
  std::vector<float> weights = {1, 2};
  std::vector<float> slot = {0, 0};
  float average = 0;
  double rate = 1;
  loop.variable("weights", weights);
  loop.variable("weights/Momentum", slot, {.trainable = false});
  loop.variable("average", average, {.trainable = false});
  loop.variable("rate", rate);
  loop.open();
  const VariableDigests first = digests_of(loop, 3);
  ASSERT_EQ(first.values.size(), 3U);
  average = 5;
  EXPECT_EQ(digests_of(loop, 3).values, first.values);
  slot[1] = -0.0F;
  const VariableDigests second = digests_of(loop, 3);
  EXPECT_NO_THROW(expect_equal_variables(loop, std::vector{first, first}));
  try {
    expect_equal_variables(loop, std::vector{first, first, second, second});
    FAIL();
  } catch (const FailedPreconditionError& error) {
    EXPECT_EQ(std::string(error.what())
                  .find("the ranks train different models, so step 3 is not saved: 2 of 4 ranks "
                        "differ from rank 0; on rank 2 these variables do: 'weights/Momentum'. "),
              0U)
        << error.what();
  }
  VariableDigests ended = second;
  ended.step = 2;
  EXPECT_NO_THROW(expect_equal_variables(loop, std::vector{first, ended}));
}

class DifferentRanksTest : public ::testing::Test {
 protected:
  using Change = std::function<void(int rank, Options& options)>;

  /// Two ranks that add a learning rate to a weight until step 6, with a checkpoint every 2 steps; returns their
  /// errors.
  Strings train(const Change& change) {
    Strings errors(2);
    testing::ThreadedRanks ranks(2);
    ranks.run([&](const std::shared_ptr<Collective>& collective) {
      const int rank = collective->rank();
      double weight = 0;
      double bias = 0;
      double rate = 1;
      LoopSession loop;
      loop.variable("weight", weight);
      loop.variable("bias", bias);
      loop.variable("learning_rate", rate, {.trainable = false});
      Options options{
          .peers = ranks::peers(collective, {.max_wait_secs = 60s}), .checkpoint_dir = "run", .file_system = &disk};
      options.hooks = {StopAtStepHook({.last_step = 6})};
      change(rank, options);
      try {
        auto session = monitored_training_session(loop, options);
        run_until_stop(session, [&] { session.run([&] { weight += rate; }); });
      } catch (...) { errors[static_cast<std::size_t>(rank)] = describe(std::current_exception()); }
    });
    return errors;
  }
  /// Of the chief, undeclared: changes a rate after step 3.
  static LambdaHook decays() {
    return LambdaHook({.after_run = [](SessionRunContext& context, const SessionRunValues&) {
      const NamedTensor lower{"learning_rate", Tensor(0.5)};
      if (context.global_step() == 3) context.session().load({&lower, 1});
    }});
  }
  void expect_refused(const Strings& errors, std::int64_t step = 4) {
    const std::string text = "the ranks train different models, so step " + std::to_string(step) +
                             " is not saved: 1 of 2 ranks differ from rank 0; on rank 1 these variables do: 'weight'. ";
    EXPECT_EQ(errors[0].find("FailedPrecondition: " + text), 0U) << errors[0];
    EXPECT_EQ(errors[1].find("FailedPrecondition: rank 0 has failed: " + text), 0U) << errors[1];
    EXPECT_EQ(latest_checkpoint(disk, "run"), "run/model.ckpt-" + std::to_string(step == 4 ? 2 : 0));
  }

  testing::MemoryFileSystem disk;
};

TEST_F(DifferentRanksTest, BecauseOfAHookOfTheChiefAreNotSaved) {
  expect_refused(train([](int rank, Options& options) {
    options.save_checkpoint_steps = 2;
    if (rank == 0) options.chief_only_hooks = {decays()};
  }));
}

TEST_F(DifferentRanksTest, AreNotSavedInTheBackgroundEither) {
  const Strings errors = train([](int rank, Options& options) {
    if (rank == 0)
      options.chief_only_hooks = {decays(), AsyncCheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 6})};
  });
  expect_refused(errors, 6);
}

TEST_F(DifferentRanksTest, AreNotMixedInOneCheckpoint) {
  expect_refused(train([](int rank, Options& options) {
    const auto saver = std::make_shared<Saver>(SaverOptions{.sharded = true});
    options.scaffold = std::make_shared<Scaffold>(ScaffoldOptions{.saver = saver});
    options.save_checkpoint_steps = 2;
    if (rank == 0) options.chief_only_hooks = {decays()};
  }));
}

TEST_F(DifferentRanksTest, AreNotSavedByASaverOfSomeVariables) {
  expect_refused(train([](int rank, Options& options) {
    const auto saver = std::make_shared<Saver>(
        SaverOptions{.var_list = {"weight", "bias", "learning_rate", "global_step"}, .with_saveables = false});
    options.scaffold = std::make_shared<Scaffold>(ScaffoldOptions{.saver = saver});
    options.save_checkpoint_steps = 2;
    if (rank == 0) options.chief_only_hooks = {decays()};
  }));
}

TEST_F(DifferentRanksTest, AreRefusedAtTheStartIfAHookSaysThatItChangesVariables) {
  const Strings errors = train([](int rank, Options& options) {
    if (rank == 0) options.chief_only_hooks = {LearningRateWarmUpHook({.steps = 5})};
  });
  const std::string text =
      "InvalidArgument: the ranks of the job must be alike. Compared with rank 0 on rank 1 the list of hooks that "
      "change variables (give them to all ranks: hooks, not chief_only_hooks) is not there and not "
      "'LearningRateWarmUpHook'";
  EXPECT_EQ(errors, (Strings{text, text}));
  EXPECT_EQ(train([](int, Options& options) { options.hooks.emplace_back(LearningRateWarmUpHook({.steps = 5})); }),
            Strings(2));
}

}  // namespace
}  // namespace trainhook::detail
