// SPDX-License-Identifier: Apache-2.0
/// @file
/// GlobalStepWaiterHook: how long it waits, and what ends that.
#include <trainhook/hooks/global_step_waiter_hook.hpp>

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "training_double.hpp"

namespace trainhook {
namespace {

using namespace std::chrono_literals;

/// Somebody else trains: each time the step is read it is one hundred further.
struct Waiting : support::Process {
  explicit Waiting(GlobalStepWaiterHook::Options options) {
    clock.auto_advance(true);
    add(GlobalStepWaiterHook(options));
    start();
  }
  support::LogLines log;
};

TEST(GlobalStepWaiterHook, B056_DoesNotWaitForStepZeroNorReadTheStep) {
  Waiting process({.wait_until_step = 0});
  process.run(process.nothing);
  EXPECT_EQ(process.script.executes, 1);
  EXPECT_TRUE(process.log.lines.empty());
}

TEST(GlobalStepWaiterHook, WaitsUntilTheStepIsReachedAndNeverAgain) {
  Waiting process({.wait_until_step = 5'000});
  process.script.before_each_run = [&] { process.set_step(process.step() + 100); };
  const Duration began = process.clock.monotonic_now();
  process.run(process.nothing);
  EXPECT_GE(process.step(), 5'000);
  EXPECT_EQ(process.clock.monotonic_now() - began, 49 * 500ms);
  EXPECT_EQ(process.log.count("Waiting for global step 5000"), 5U)
      << "at first, and each time it is more than 1000 further";
  process.set_step(0);
  process.script.before_each_run = nullptr;
  process.create();
  process.run(process.nothing);
  EXPECT_EQ(process.log.count("Waiting"), 5U);
}

TEST(GlobalStepWaiterHook, X51_S24_ARequestToStopEndsTheWait) {
  Waiting process({.wait_until_step = 10});
  int looks = 0;
  process.script.before_each_run = [&] {
    if (++looks == 3) process.coordinator->request_stop();
  };
  process.run(process.nothing);
  EXPECT_EQ(looks, 4) << "three looks, and the run";
  EXPECT_TRUE(process.should_stop());
}

TEST(GlobalStepWaiterHook, X51_S24_ARequestFromAnotherThreadWakesIt) {
  support::Process process;  // whose clock stands still: nothing but the request ends the wait
  support::LogLines log;
  process.add(GlobalStepWaiterHook({.wait_until_step = 10}));
  process.start();
  std::thread stopper([&] {
    while (process.clock.waiters() == 0) std::this_thread::yield();
    process.coordinator->request_stop();
  });
  process.run(process.nothing);
  stopper.join();
  EXPECT_TRUE(process.should_stop());
}

TEST(GlobalStepWaiterHook, WaitsWithoutACoordinatorToo) {
  support::Process process;
  support::LogLines log;
  process.clock.auto_advance(true);
  GlobalStepWaiterHook hook({.wait_until_step = 300, .timeout = 3s});
  detail::HookAccess::attach(hook, process.services);
  hook.begin(process.graph);
  process.script.before_each_run = [&] { process.set_step(process.step() + 100); };
  const RunRequest request;
  SessionRunContext context(process.model, request, process.clock, nullptr);
  const Duration began = process.clock.monotonic_now();
  EXPECT_TRUE(hook.before_run(context).fetches.empty());
  EXPECT_EQ(process.step(), 300);
  EXPECT_EQ(process.clock.monotonic_now() - began, 1s);
}

TEST(GlobalStepWaiterHook, S24_GivesUpAfterTheTimeout) {
  Waiting process({.wait_until_step = 10, .timeout = 3s});
  const Duration began = process.clock.monotonic_now();
  EXPECT_THROW(process.run(process.nothing), DeadlineExceededError);
  EXPECT_EQ(process.clock.monotonic_now() - began, 3s);
  EXPECT_THROW(GlobalStepWaiterHook({.wait_until_step = 1, .timeout = 0s}), InvalidArgumentError);
}

TEST(GlobalStepWaiterHook, X45_NeedsAGlobalStep) {
  Graph graph;
  GlobalStepWaiterHook hook({.wait_until_step = 1});
  EXPECT_THROW(hook.begin(graph), FailedPreconditionError);
}

}  // namespace
}  // namespace trainhook
