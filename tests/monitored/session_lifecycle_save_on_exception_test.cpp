// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionLifecycle with `save_on_exception`: after which errors the last step is saved, and that a run goes on from
/// it.
#include <trainhook/monitored/session_lifecycle.hpp>

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/nan_tensor_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::LogLines;

struct Broken : std::runtime_error {
  Broken() : runtime_error("broken") {}
};

/// Saves every ten steps; something breaks after step 13.
struct Training {
  using Session = decltype(monitored_training_session(std::declval<LoopSession&>(), {}));

  void train(HookList hooks, const std::function<void(Session&)>& body, bool is_async = false) {
    LoopSession loop;
    loop.variable("weight", weight);
    loop.value("loss", [this] { return loss; });
    CheckpointSaverOptions options{
        .checkpoint_dir = "run", .save_steps = 10, .save_on_exception = true, .overlap = SaveOverlap::Wait};
    if (is_async) {
      hooks.emplace_back(AsyncCheckpointSaverHook(options));
    } else {
      hooks.emplace_back(CheckpointSaverHook(options));
    }
    auto session = monitored_training_session(
        loop, {.checkpoint_dir = "run", .log_step_count_steps = 0, .hooks = std::move(hooks), .file_system = &faulty});
    first_step = session.global_step();
    body(session);
  }
  void step(Session& session) {
    session.run([this] { weight += 1; });
  }
  void steps(Session& session, int times) {
    for (int i = 0; i < times; ++i) step(session);
  }
  /// The steps that have a checkpoint, the newest last.
  std::string saved() {
    std::string all;
    for (const std::int64_t step : {0, 10, 12, 13, 14, 20}) {
      if (disk.exists("run/model.ckpt-" + std::to_string(step) + ".index")) all += std::to_string(step) + " ";
    }
    return all;
  }

  testing::MemoryFileSystem disk;
  testing::FaultyFileSystem faulty{disk};
  float weight = 0;
  float loss = 1;
  std::int64_t first_step = -1;
  LogLines log;
};

LambdaHook breaks_after(std::int64_t step) {
  return LambdaHook({.after_run = [step](SessionRunContext& context, const SessionRunValues&) {
    if (context.global_step() == step) throw Broken();
  }});
}

TEST(SaveOnException, SavesTheStepAfterWhichAHookThrows) {
  for (const bool is_async : {false, true}) {
    Training training;
    EXPECT_THROW(training.train(
                     {breaks_after(13)}, [&](auto& session) { training.steps(session, 20); }, is_async),
                 Broken);
    EXPECT_EQ(training.saved(), "0 10 13 ");
    training.weight = 0;
    training.train({}, [](auto&) {});
    EXPECT_EQ(training.first_step, 13);
    EXPECT_EQ(training.weight, 13);
  }
}

TEST(SaveOnException, AStepThatNobodyHasCheckedIsNotSaved) {
  Training training;
  auto hook = LambdaHook({.after_run =
                              [](SessionRunContext& context, const SessionRunValues&) {
                                if (context.global_step() == 13) throw Broken();
                              },
                          .phase = HookPhase::Check});
  EXPECT_THROW(training.train({std::move(hook)}, [&](auto& session) { training.steps(session, 20); }), Broken);
  EXPECT_EQ(training.saved(), "0 10 ");
}

TEST(SaveOnException, AStepThatFailedInsideAnotherIsForgottenWithIt) {
  Training training;
  EXPECT_THROW(training.train({},
                              [&](auto& session) {
                                training.steps(session, 12);
                                session.run_step_fn([&](auto& context) {
                                  EXPECT_THROW(context.run_with_hooks([] { throw Broken(); }), Broken);
                                  context.run_with_hooks([] {});
                                });
                                throw Broken();
                              }),
               Broken);
  EXPECT_EQ(training.saved(), "0 10 13 ");
}

TEST(SaveOnException, SavesTheStepBeforeAHookThatThrowsBeforeTheRun) {
  Training training;
  auto hook = LambdaHook({.before_run = [](SessionRunContext& context) -> SessionRunArgs {
    if (context.global_step() == 13) throw Broken();
    return {};
  }});
  EXPECT_THROW(training.train({std::move(hook)}, [&](auto& session) { training.steps(session, 20); }), Broken);
  EXPECT_EQ(training.saved(), "0 10 13 ");
}

TEST(SaveOnException, SavesWhatTheProgramThrowsBetweenRuns) {
  Training training;
  EXPECT_THROW(training.train({},
                              [&](auto& session) {
                                training.steps(session, 13);
                                throw Broken();
                              }),
               Broken);
  EXPECT_EQ(training.saved(), "0 10 13 ");
}

TEST(SaveOnException, DoesNotSaveTheMiddleOfAStep) {
  Training training;
  EXPECT_THROW(training.train({},
                              [&](auto& session) {
                                training.steps(session, 13);
                                session.run([&] {
                                  training.weight += 1;
                                  throw Broken();
                                });
                              }),
               Broken);
  EXPECT_EQ(training.saved(), "0 10 ");
  EXPECT_THAT(training.log.lines, Contains("W save_on_exception: the last step is not saved: the model may be in the "
                                           "middle of a step"));
}

TEST(SaveOnException, AStepThatFailedIsForgottenWhenTheProgramGoesOn) {
  Training training;
  EXPECT_THROW(training.train({},
                              [&](auto& session) {
                                training.steps(session, 12);
                                EXPECT_THROW(session.run([] { throw Broken(); }), Broken);
                                training.step(session);
                                throw Broken();
                              }),
               Broken);
  EXPECT_EQ(training.saved(), "0 10 13 ");
}

TEST(SaveOnException, SavesAfterTheErrorOfAThread) {
  Training training;
  Coordinator* coordinator = nullptr;
  auto hook =
      LambdaHook({.after_create_session = [&](SessionRef, Coordinator& of_session) { coordinator = &of_session; }});
  EXPECT_THROW(training.train({std::move(hook)},
                              [&](auto& session) {
                                training.steps(session, 13);
                                coordinator->request_stop(std::make_exception_ptr(Broken()));
                                EXPECT_TRUE(session.should_stop());
                                session.close();
                              }),
               Broken);
  EXPECT_EQ(training.saved(), "0 10 13 ");
}

TEST(SaveOnException, AHookCanVetoIt) {
  Training training;
  EXPECT_THROW(training.train({NanTensorHook("loss")},
                              [&](auto& session) {
                                training.steps(session, 13);
                                training.loss = std::nanf("");
                                training.step(session);
                              }),
               NanLossDuringTrainingError);
  EXPECT_EQ(training.saved(), "0 10 ") << "the loss of step 14 is NaN";
}

TEST(SaveOnException, WhatIsSavedAlreadyIsNotSavedAgain) {
  Training training;
  EXPECT_THROW(training.train({},
                              [&](auto& session) {
                                training.steps(session, 10);
                                throw Broken();
                              }),
               Broken);
  EXPECT_EQ(training.saved(), "0 10 ");
}

TEST(SaveOnException, AFailureOfItIsLoggedAndTheFirstErrorIsThrown) {
  Training training;
  EXPECT_THROW(training.train({},
                              [&](auto& session) {
                                training.steps(session, 13);
                                training.faulty.fail_from(1);
                                throw Broken();
                              }),
               Broken);
  EXPECT_EQ(training.saved(), "0 10 ");
  EXPECT_THAT(training.log.lines, Contains(HasSubstr("E while the last step was saved after an exception: ")));
}

TEST(SaveOnException, WithoutItNothingIsSaved) {
  testing::MemoryFileSystem disk;
  const LogLines quiet;
  float weight = 0;
  LoopSession loop;
  loop.variable("weight", weight);
  EXPECT_THROW(
      {
        auto session = monitored_training_session(
            loop, {.checkpoint_dir = "run", .save_checkpoint_steps = 10, .file_system = &disk});
        for (int i = 0; i < 3; ++i) session.run([&] { weight += 1; });
        throw Broken();
      },
      Broken);
  EXPECT_FALSE(disk.exists("run/model.ckpt-3.index"));
}

TEST(SaveOnException, BelongsToASaver) {
  testing::MemoryFileSystem disk;
  LoopSession loop;
  EXPECT_THROW(static_cast<void>(monitored_training_session(loop, {.save_on_exception = true, .file_system = &disk})),
               InvalidArgumentError);
  LoopSession other;
  EXPECT_THROW(static_cast<void>(monitored_training_session(other, {.checkpoint_dir = "run",
                                                                    .save_on_exception = true,
                                                                    .hooks = {CheckpointSaverHook({.save_steps = 1})},
                                                                    .file_system = &disk})),
               InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
