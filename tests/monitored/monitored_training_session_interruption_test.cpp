// SPDX-License-Identifier: Apache-2.0
/// @file
/// What an interruption means for later sessions of the process.
#include <trainhook/monitored/monitored_training_session.hpp>

#include <csignal>
#include <cstdint>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/hooks/signal_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using Options = MonitoredTrainingSessionOptions;

SignalHook signals() { return SignalHook({.save_signals = {}, .deadline = {}}); }

class Interruption : public ::testing::Test {
 protected:
  ~Interruption() override { forget_interruption(); }

  /// Trains until step 5, or is interrupted by a signal in the step that makes `signal_at`. Returns the last step.
  std::int64_t train(Options options, std::int64_t signal_at = 0) {
    float weight = 0;
    LoopSession loop;
    loop.variable("weight", weight);
    options.checkpoint_dir = "run";
    options.file_system = &disk_;
    options.hooks.emplace_back(StopAtStepHook({.last_step = 5}));
    auto session = monitored_training_session(loop, options);
    run_until_stop(session, [&] {
      session.run([&] {
        if (loop.global_step() + 1 == signal_at) std::raise(SIGINT);
      });
    });
    return loop.global_step();
  }

  testing::LogLines log_;
  testing::MemoryFileSystem disk_;
};

TEST_F(Interruption, EndsALoopOfSessions) {
  int trained = 0;
  while (!interruption()) {
    EXPECT_EQ(train({.hooks = signals()}, 3), 3);
    ++trained;
  }
  EXPECT_EQ(trained, 1);
  EXPECT_EQ(train({}), 5) << "a session without a SignalHook is made";
}

TEST_F(Interruption, ALaterSessionThrowsBeforeItTouchesAFile) {
  train({.hooks = signals()}, 3);
  const auto files = disk_.files();
  const auto renamed = OnExisting::StartFresh;
  EXPECT_THROW(train({.on_existing = renamed, .hooks = signals()}), CancelledError);
  EXPECT_THROW(train({.on_existing = renamed, .chief_only_hooks = signals()}), CancelledError);
  EXPECT_EQ(disk_.files(), files);
  forget_interruption();
  EXPECT_EQ(train({.hooks = signals()}), 5);
}

}  // namespace
}  // namespace trainhook
