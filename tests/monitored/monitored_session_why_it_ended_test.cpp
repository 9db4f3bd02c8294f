// SPDX-License-Identifier: Apache-2.0
/// @file
/// MonitoredSession::why_it_ended: the reason, for each way in which a session ends.
#include <trainhook/monitored/monitored_session.hpp>

#include <cmath>
#include <csignal>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/hooks/early_stopping_hook.hpp>
#include <trainhook/hooks/evaluation_hook.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/nan_tensor_hook.hpp>
#include <trainhook/hooks/signal_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

/// A loop of five steps at most, with hooks.
struct Training {
  float weight = 0;
  LoopSession loop;
  testing::MemoryFileSystem disk;
  testing::LogLines quiet;

  Training() {
    loop.variable("weight", weight);
    loop.value("root", [this] { return std::sqrt(1.5F - weight); });
  }
  [[nodiscard]] MonitoredSession<LoopSession> open(HookList hooks, const std::string& directory = {}) {
    return monitored_training_session(
        loop,
        {.checkpoint_dir = directory, .save_checkpoint_steps = 100, .hooks = std::move(hooks), .file_system = &disk});
  }
  [[nodiscard]] std::string reason(HookList hooks) {
    auto session = open(std::move(hooks));
    EXPECT_EQ(session.why_it_ended(), "");
    for (int i = 0; i < 5 && !session.should_stop(); ++i) session.run([&] { weight += 1; });
    const std::string before = session.why_it_ended();
    session.close();
    if (!before.empty()) { EXPECT_EQ(session.why_it_ended(), before); }
    return session.why_it_ended();
  }
};

TEST(WhyItEnded, IsTheReasonOfTheHookThatRequestedTheStop) {
  EXPECT_EQ(Training().reason({StopAtStepHook({.last_step = 3})}), "step 3 is reached");
  EXPECT_EQ(Training().reason({NanTensorHook("root", {.fail_on_nan_loss = false})}),
            "tensor 'root' is NaN or infinite");
  EXPECT_EQ(Training().reason({EvaluationHook(
                                   [] {
                                     return Metrics{{"loss", 0.25}};
                                   },
                                   {.every_n_steps = 1}),
                               EarlyStoppingHook({.patience = 2})}),
            "early stopping: eval/loss has not improved for 2 evaluations; best 0.25 at step 1");
  EXPECT_EQ(Training().reason({LambdaHook(
                {.after_run = [](SessionRunContext& context,
                                 const SessionRunValues&) { context.request_stop("the user has gone home"); }})}),
            "the user has gone home");
}

TEST(WhyItEnded, NamesAHookThatGivesNoReason) {
  EXPECT_EQ(Training().reason({LambdaHook(
                {.after_run = [](SessionRunContext& context, const SessionRunValues&) { context.request_stop(); }})}),
            "LambdaHook requested a stop");
  EXPECT_EQ(Training().reason({LambdaHook({.before_run = [](SessionRunContext& context) -> SessionRunArgs {
    context.request_stop();
    return {};
  }})}),
            "LambdaHook requested a stop");
}

TEST(WhyItEnded, IsTheFirstReasonOfSeveral) {
  EXPECT_EQ(
      Training().reason({StopAtStepHook({.last_step = 1}), StopAtStepHook({.num_steps = 2}),
                         LambdaHook({.after_run = [](SessionRunContext& context,
                                                     const SessionRunValues&) { context.request_stop("too late"); }})}),
      "step 1 is reached");
}

TEST(WhyItEnded, IsASignal) {
  Training training;
  auto session = training.open({SignalHook()});
  static_cast<void>(std::raise(SIGTERM));
  run_until_stop(session, [&] { session.run([] {}); });
  EXPECT_EQ(session.why_it_ended(), "SIGTERM");
  forget_interruption();
}

TEST(WhyItEnded, IsKnownIfASessionStartsAtItsLastStep) {
  Training first;
  {
    auto session = first.open({StopAtStepHook({.last_step = 2})}, "run");
    run_until_stop(session, [&] { session.run([] {}); });
  }
  float weight = 0;
  LoopSession loop;
  loop.variable("weight", weight);
  auto session = monitored_training_session(
      loop, {.checkpoint_dir = "run", .hooks = {StopAtStepHook({.last_step = 2})}, .file_system = &first.disk});
  EXPECT_TRUE(session.should_stop());
  session.close();
  EXPECT_EQ(session.why_it_ended(), "step 2 is reached");
}

TEST(WhyItEnded, NamesAHookThatStopsWhenTheSessionIsCreated) {
  Training training;
  auto session = training.open(
      {LambdaHook({.after_create_session = [](SessionRef, Coordinator& coordinator) { coordinator.request_stop(); }})});
  EXPECT_EQ(session.why_it_ended(), "LambdaHook requested a stop");
}

TEST(WhyItEnded, IsTheEndOfInput) {
  Training training;
  auto session = training.open({});
  run_until_stop(session, [&] { session.run([] { throw OutOfRangeError("no more data"); }); });
  EXPECT_EQ(session.why_it_ended(), "end of input");
}

TEST(WhyItEnded, IsTheError) {
  Training training;
  auto session = training.open({});
  EXPECT_THROW(run_until_stop(session, [&] { session.run([] { throw std::runtime_error("out of coffee"); }); }),
               std::runtime_error);
  EXPECT_EQ(session.why_it_ended(), "out of coffee");
}

TEST(WhyItEnded, IsTheProgramIfItCloses) { EXPECT_EQ(Training().reason({}), "the program closed the session"); }

}  // namespace
}  // namespace trainhook
