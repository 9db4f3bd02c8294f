// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of SessionRunContext: the step and the time are read once however many ask.
#include <trainhook/session/run_context.hpp>

#include <chrono>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include <trainhook/testing/manual_clock.hpp>

#include "engine_double.hpp"

namespace trainhook {
namespace {

using namespace std::chrono_literals;

class RunContextTest : public ::testing::Test {
 protected:
  support::EngineDouble<true> engine;
  Variable step = create_global_step(engine.graph());
  testing::ManualClock clock;
  RunRequest request;
};

TEST_F(RunContextTest, ReadsTheGlobalStepOnceBeforeAndOnceAfterTheRun) {
  SessionRunContext context(engine, request, clock, &step);
  engine.step = Tensor(std::int64_t{7});
  EXPECT_EQ(context.global_step(), 7);
  engine.step = Tensor(std::int64_t{8});
  EXPECT_EQ(context.global_step(), 7);
  EXPECT_EQ(engine.take(), "run global_step/read:\n");
  context.mark_run_done();
  EXPECT_EQ(context.global_step(), 8);
  EXPECT_EQ(context.global_step(), 8);
  EXPECT_EQ(engine.take(), "run global_step/read:\n");
}

TEST_F(RunContextTest, ReadsNothingIfNotAsked) {
  SessionRunContext context(engine, request, clock, &step);
  context.mark_run_done();
  EXPECT_EQ(engine.take(), "");
  EXPECT_EQ(clock.reads(), 0);
}

TEST_F(RunContextTest, AskedForAStepThatDoesNotExistSaysHowToGetOne) {
  SessionRunContext context(engine, request, clock, nullptr);
  try {
    (void)context.global_step();
    FAIL();
  } catch (const FailedPreconditionError& error) {
    EXPECT_NE(std::string(error.what()).find("get_or_create_global_step"), std::string::npos);
  }
}

TEST_F(RunContextTest, AStepMayBe32BitsWide) {
  engine.step = Tensor(std::int32_t{5});
  EXPECT_EQ(read_global_step(engine, step), 5);
}

TEST_F(RunContextTest, ReadsTheClockOnceForTheWholeRun) {
  SessionRunContext context(engine, request, clock, &step);
  const Duration before = context.now();
  clock.advance(1s);
  context.mark_run_done();
  EXPECT_EQ(context.now(), before);
  EXPECT_EQ(clock.reads(), 1);
}

TEST_F(RunContextTest, AStopRequestCannotBeTakenBack) {
  SessionRunContext context(engine, request, clock, &step);
  EXPECT_FALSE(context.stop_requested());
  context.request_stop();
  context.request_stop();
  context.mark_run_done();
  EXPECT_TRUE(context.stop_requested());
}

TEST_F(RunContextTest, IsInterruptedOnlyIfThatIsTheFirstReason) {
  SessionRunContext interrupted(engine, request, clock, &step);
  interrupted.interrupt("a signal");
  interrupted.request_stop("enough");
  EXPECT_TRUE(interrupted.is_interruption());
  EXPECT_EQ(interrupted.stop_reason(), "a signal");
  SessionRunContext ended(engine, request, clock, &step);
  ended.request_stop();
  ended.interrupt("a signal");
  EXPECT_TRUE(ended.stop_requested());
  EXPECT_FALSE(ended.is_interruption());
}

TEST_F(RunContextTest, ShowsWhatTheUserAskedForAndTheRawSession) {
  SessionRunContext context(engine, request, clock, &step);
  EXPECT_EQ(&context.original_args(), &request);
  EXPECT_EQ(context.session(), SessionRef(engine));
}

}  // namespace
}  // namespace trainhook
