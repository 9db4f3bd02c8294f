// SPDX-License-Identifier: Apache-2.0
/// @file
/// basic_train_loop: it ends with the session, and goes on after an AbortedError only.
#include <trainhook/compat/basic_train_loop.hpp>

#include <string>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/compat/singular_monitored_session.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

class BasicTrainLoop : public ::testing::Test {
 protected:
  /// Runs to step 5; `step_of` makes each step, whose number over all sessions it gets.
  template <class StepOf>
  void train(StepOf step_of) {
    loop_.init([this] { w_ = 0; });
    basic_train_loop(
        [this] {
          ++sessions_;
          return SingularMonitoredSession<LoopSession>(
              loop_, {.hooks = {StopAtStepHook({.last_step = 5})}, .file_system = &disk_, .clock = &clock_});
        },
        [&](auto& session) {
          session.run([&] {
            step_of(++calls_);
            w_ += 1;
          });
        });
  }

  testing::LogLines log_;
  testing::MemoryFileSystem disk_;
  testing::ManualClock clock_;
  float w_ = 0;
  int calls_ = 0;
  int sessions_ = 0;
  LoopSession loop_;
};

TEST_F(BasicTrainLoop, EndsWithItsSession) {
  train([](int) {});
  EXPECT_EQ(calls_, 5);
  EXPECT_EQ(sessions_, 1);
}

TEST_F(BasicTrainLoop, BeginsAgainIfItIsAborted) {
  loop_.variable("w", w_);
  train([](int call) {
    if (call == 3 || call == 6) throw AbortedError("preempted");
  });
  EXPECT_EQ(sessions_, 3);
  EXPECT_EQ(calls_, 3 + 3 + 5);
  EXPECT_EQ(w_, 5);
  EXPECT_EQ(log_.count("continues with a new session: preempted"), 2U);
}

TEST_F(BasicTrainLoop, ThrowsWhateverElseLeavesIt) {
  EXPECT_THROW(train([](int call) {
                 if (call == 2) throw UnavailableError("gone");
               }),
               UnavailableError);
  EXPECT_EQ(sessions_, 1);
}

TEST_F(BasicTrainLoop, TakesTheEndOfInputAsANormalEnd) {
  train([](int call) {
    if (call == 3) throw OutOfRangeError("no more input");
  });
  EXPECT_EQ(calls_, 3);
  EXPECT_EQ(sessions_, 1);
}

}  // namespace
}  // namespace trainhook
