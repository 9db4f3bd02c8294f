// SPDX-License-Identifier: Apache-2.0
/// @file
/// StopAtCheckpointStepHook: what it waits for, and when it stops.
#include <trainhook/compat/stop_at_checkpoint_step_hook.hpp>

#include <chrono>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using support::Process;

/// A worker at step 10, beside a chief that saves.
struct Worker : Process {
  explicit Worker(std::int64_t last_step) {
    clock.auto_advance(true);
    add(StopAtCheckpointStepHook({.model_dir = "run", .last_step = last_step}));
    set_step(10);
    start();
  }
  void chief_saves(std::int64_t step) {
    const std::string prefix = "run/model.ckpt-" + std::to_string(step);
    BundleWriter writer(prefix, {.file_system = &disk});
    writer.add("global_step", Tensor(step));
    writer.finish();
    update_checkpoint_state(disk, "run", {.model_checkpoint_path = prefix});
  }
  /// How long one run took by the clock.
  Duration run_time() {
    const Duration began = clock.monotonic_now();
    run(nothing);
    return clock.monotonic_now() - began;
  }
};

TEST(StopAtCheckpointStepHook, EH09_WaitsWhileThereIsNoCheckpoint) {
  Worker worker(10);
  EXPECT_EQ(worker.run_time(), 30s);
  EXPECT_FALSE(worker.should_stop());
}

TEST(StopAtCheckpointStepHook, WaitsForTheLastStep) {
  Worker worker(10);
  worker.chief_saves(9);
  EXPECT_EQ(worker.run_time(), 30s);
  EXPECT_FALSE(worker.should_stop());
}

TEST(StopAtCheckpointStepHook, EH11_StopsIfTheLastStepIsSaved) {
  Worker worker(10);
  worker.chief_saves(10);
  EXPECT_EQ(worker.run_time(), 0s);
  EXPECT_TRUE(worker.should_stop());
}

TEST(StopAtCheckpointStepHook, StopsAfterARecoveryToAnEarlierStepToo) {
  Worker worker(10);
  worker.chief_saves(10);
  worker.run(worker.nothing);
  worker.set_step(5);
  worker.create();
  EXPECT_TRUE(worker.should_stop());
  EXPECT_EQ(worker.services.stop_reason(), "step 10 is saved in 'run'");
}

TEST(StopAtCheckpointStepHook, S41_ARequestToStopEndsTheWait) {
  Worker worker(10);
  worker.coordinator->request_stop();
  EXPECT_EQ(worker.run_time(), 0s);
}

TEST(StopAtCheckpointStepHook, DoesNotLookBeforeTheLastStep) {
  Worker worker(11);
  worker.chief_saves(11);
  EXPECT_EQ(worker.run_time(), 0s);
  EXPECT_FALSE(worker.should_stop());
}

TEST(StopAtCheckpointStepHook, RefusesToLookForNothing) {
  EXPECT_THROW(StopAtCheckpointStepHook({.last_step = 1}), InvalidArgumentError);
  EXPECT_THROW(StopAtCheckpointStepHook({.model_dir = "run"}), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
