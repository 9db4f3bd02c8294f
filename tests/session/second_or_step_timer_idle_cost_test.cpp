// SPDX-License-Identifier: Apache-2.0
/// @file
/// What the stock hooks cost in a step if nothing is due: no allocation, no clock, no run of their own but one to
/// learn the step.
#include <trainhook/session/second_or_step_timer.hpp>

#include <chrono>
#include <memory>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>
#include <trainhook/hooks/final_ops_hook.hpp>
#include <trainhook/hooks/logging_tensor_hook.hpp>
#include <trainhook/hooks/nan_tensor_hook.hpp>
#include <trainhook/hooks/progress_hook.hpp>
#include <trainhook/hooks/step_counter_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/hooks/summary_saver_hook.hpp>

#include "allocations.hpp"
#include "training_double.hpp"

namespace trainhook {
namespace {

using namespace std::chrono_literals;

struct Idle : support::Process {
  support::LogLines log;
  Output loss = script.value("loss", [] { return Tensor(0.5F); });
  Output merged = script.value(
      "merged", [] { return Tensor(""); }, DType::String);
  std::shared_ptr<AsyncCheckpointSaverHook> saver =
      std::make_shared<AsyncCheckpointSaverHook>(AsyncCheckpointSaverHook::Options{
          .checkpoint_dir = "run", .save_steps = 1'000'000, .saver = std::make_shared<Saver>()});

  Idle() {
    script.keeps_requests = false;
    add(StopAtStepHook({.last_step = 1'000'000}));
    add(NanTensorHook(loss));
    add(LoggingTensorHook(loss, {.every_n_iter = 1'000'000}));
    add(StepCounterHook({.every_n_steps = 1'000'000, .output_dir = "run"}));
    add(SummarySaverHook({.save_steps = 1'000'000, .output_dir = "run", .summary_op = merged}));
    add(saver);
    add(FinalOpsHook(loss));
  }

  // The save that a new session starts with is over, and the loop has been told of it.
  void settle() {
    saver->wait_until_written();
    run(3);
  }
};

TEST(StockHooks, AllocateNothingInAStepIfNothingIsDue) {
  Idle training;
  training.add(ProgressHook({.tensors = training.loss, .every_secs = 1h, .sink = [](std::string_view) {}}));
  training.start();
  training.settle();
  const support::AllocationCount count;
  training.run(100);
  EXPECT_EQ(count.so_far(), 0U);
}

TEST(StockHooks, ReadNoClockAndTheStepOnceInAStepIfNothingIsDue) {
  Idle training;
  training.start();
  training.settle();
  const int reads = training.clock.reads();
  const int runs = training.script.executes;
  training.run(10);
  EXPECT_EQ(training.clock.reads(), reads);
  EXPECT_EQ(training.script.executes, runs + 20);
}

}  // namespace
}  // namespace trainhook
