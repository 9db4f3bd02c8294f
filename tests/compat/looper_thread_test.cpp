// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of LooperThread: when its target is called, and what ends it.
#include <trainhook/compat/looper_thread.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/testing/manual_clock.hpp>

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using testing::ManualClock;

/// A target with an argument of its own, as a function object carries it.
class CountDown {
 public:
  CountDown(int& left, Coordinator& coordinator) : left_(&left), coordinator_(&coordinator) {}
  void operator()() const {
    if (--*left_ == 0) coordinator_->request_stop();
  }

 private:
  int* left_;
  Coordinator* coordinator_;
};

TEST(LooperThread, C16_CallsItsTargetUntilAStopIsRequested) {
  Coordinator coordinator;
  int left = 3;
  LooperThread::loop(coordinator, 0s, CountDown(left, coordinator));
  coordinator.join();
  EXPECT_EQ(left, 0);
}

TEST(LooperThread, C17_TakesItsTargetByName) {
  Coordinator coordinator;
  int left = 3;
  const LooperThread looper(coordinator, {.timer_interval_secs = 0s, .target = CountDown(left, coordinator)});
  looper.start();
  coordinator.join();
  EXPECT_EQ(left, 0);
}

TEST(LooperThread, WithoutAnIntervalGoesBackToBackBetweenStartAndStop) {
  Coordinator coordinator;
  std::string trace;
  int rounds = 0;
  const LooperThread looper(coordinator, {.target =
                                              [&] {
                                                trace += "round ";
                                                if (++rounds == 2) coordinator.request_stop();
                                              },
                                          .start_loop = [&] { trace += "start "; },
                                          .stop_loop = [&] { trace += "stop"; }});
  looper.start();
  coordinator.join();
  EXPECT_EQ(trace, "start round round stop");
}

TEST(LooperThread, KeepsToMultiplesOfTheIntervalHoweverLongACallTakes) {
  ManualClock clock;
  clock.auto_advance(true);
  Coordinator coordinator(clock);
  const Duration start = clock.monotonic_now();
  std::vector<Duration> calls;
  LooperThread::loop(coordinator, 10s, [&] {
    calls.push_back(clock.monotonic_now() - start);
    if (calls.size() == 2) clock.advance(25s);  // the next two are due already
    if (calls.size() == 5) {
      clock.auto_advance(false);  // the join's grace period is not to be over at once
      coordinator.request_stop();
    }
  });
  coordinator.join();
  EXPECT_EQ(calls, (std::vector<Duration>{0s, 10s, 35s, 35s, 40s}));
}

TEST(LooperThread, S39_IsWokenByAStopRequestInsteadOfSleepingItOut) {
  ManualClock clock;  // it is never advanced
  Coordinator coordinator(clock);
  std::promise<void> called;
  LooperThread::loop(coordinator, 24h, [&] { called.set_value(); });
  called.get_future().wait();
  coordinator.request_stop();
  coordinator.join(120s);
}

TEST(LooperThread, AnErrorStopsTheOthersAndSkipsStopLoop) {
  Coordinator coordinator;
  bool stopped = false;
  const LooperThread looper(
      coordinator, {.target = [] { throw std::runtime_error("broken"); }, .stop_loop = [&] { stopped = true; }});
  looper.start();
  EXPECT_THROW(coordinator.join(), std::runtime_error);
  EXPECT_FALSE(stopped);
}

TEST(LooperThread, SaysWhatIsWrongWithItsOptions) {
  Coordinator coordinator;
  const auto message_of = [&](LooperThreadOptions options) {
    try {
      const LooperThread looper(coordinator, std::move(options));
    } catch (const InvalidArgumentError& error) { return std::string(error.what()); }
    return std::string("nothing");
  };
  EXPECT_EQ(message_of({.timer_interval_secs = -2s, .target = [] {}}),
            "LooperThread: timer_interval_secs is -2; it must not be negative, and none at all calls back to back");
  EXPECT_EQ(message_of({.timer_interval_secs = 2s}), "LooperThread: target is empty; give the function to be called");
}

}  // namespace
}  // namespace trainhook
