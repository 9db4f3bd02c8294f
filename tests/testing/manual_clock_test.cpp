// SPDX-License-Identifier: Apache-2.0
/// @file
/// ManualClock: time that stands still, and those who wait for it.
#include <trainhook/testing/manual_clock.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace trainhook::testing {
namespace {

using namespace std::chrono_literals;

/// A thread that waits for `ready`, or for so long by the clock; its mutex and condition go with it.
class Waiter {
 public:
  Waiter(ManualClock& clock, Duration timeout)
      : deadline_(clock.monotonic_now() + timeout), thread_([this, &clock] {
          auto place = std::make_unique<Place>();
          std::unique_lock lock(place->mutex);
          was_ready_ = clock.wait_until(lock, place->changed, deadline_, [] { return false; });
        }) {}
  [[nodiscard]] bool join() {
    thread_.join();
    return was_ready_;
  }

 private:
  struct Place {
    std::mutex mutex;
    std::condition_variable changed;
  };
  Duration deadline_;
  bool was_ready_ = true;
  std::thread thread_;
};

void await_waiters(ManualClock& clock, std::size_t count) {
  while (clock.waiters() != count) std::this_thread::yield();
}

TEST(ManualClock, DoesNotMoveUntilItIsAdvanced) {
  ManualClock clock(100);
  const Duration start = clock.monotonic_now();
  EXPECT_EQ(clock.monotonic_now(), start);
  EXPECT_EQ(clock.wall_seconds(), 100 + std::chrono::duration<double>(start).count());
  clock.advance(1500ms);
  EXPECT_EQ(clock.monotonic_now() - start, 1500ms);
  EXPECT_EQ(clock.wall_seconds(), 101.5 + std::chrono::duration<double>(start).count());
}

TEST(ManualClock, WallTimeJumpsWhileMonotonicTimeContinues) {
  ManualClock clock(100);
  const Duration start = clock.monotonic_now();
  for (const double seconds : {5'000.0, 20.0}) {
    clock.set_wall_seconds(seconds);
    EXPECT_EQ(clock.wall_seconds(), seconds);
    EXPECT_EQ(clock.monotonic_now(), start);
  }
  clock.advance(1500ms);
  EXPECT_EQ(clock.wall_seconds(), 21.5);
}

TEST(ManualClock, CountsHowOftenItIsAsked) {
  ManualClock clock;
  (void)clock.monotonic_now();
  (void)clock.monotonic_now();
  (void)clock.wall_seconds();
  EXPECT_EQ(clock.reads(), 2);
}

TEST(ManualClock, WakesThreadsWhoseTimeHasCome) {
  ManualClock clock;
  Waiter first(clock, 1s);
  Waiter second(clock, 3s);
  await_waiters(clock, 2);
  clock.advance(2s);
  EXPECT_FALSE(first.join());
  EXPECT_EQ(clock.waiters(), 1U);
  clock.advance(1s);
  EXPECT_FALSE(second.join());
}

TEST(ManualClock, DoesNotWaitForATimeThatIsPast) {
  ManualClock clock;
  std::mutex mutex;
  std::condition_variable changed;
  std::unique_lock lock(mutex);
  EXPECT_FALSE(clock.wait_until(lock, changed, clock.monotonic_now(), [] { return false; }));
  EXPECT_TRUE(clock.wait_until(lock, changed, clock.monotonic_now() + 1h, [] { return true; }));
}

TEST(ManualClock, LetsAWaiterGoWhenItIsReady) {
  ManualClock clock;
  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false;
  bool was_ready = false;
  std::thread thread([&] {
    std::unique_lock lock(mutex);
    was_ready = clock.wait_until(lock, changed, clock.monotonic_now() + 1h, [&] { return ready; });
  });
  await_waiters(clock, 1);
  {
    const std::scoped_lock lock(mutex);
    ready = true;
  }
  changed.notify_one();
  thread.join();
  EXPECT_TRUE(was_ready);
}

TEST(ManualClock, JumpsToTheDeadlineIfToldTo) {
  ManualClock clock;
  clock.auto_advance(true);
  const Duration start = clock.monotonic_now();
  std::mutex mutex;
  std::condition_variable changed;
  std::unique_lock lock(mutex);
  EXPECT_FALSE(clock.wait_until(lock, changed, start + 5s, [] { return false; }));
  EXPECT_EQ(clock.monotonic_now(), start + 5s);
}

TEST(ManualClock, TouchesNothingOfAWaiterThatHasGone) {
  ManualClock clock;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::unique_ptr<Waiter>> waiters;
    for (int i = 1; i <= 3; ++i) waiters.push_back(std::make_unique<Waiter>(clock, std::chrono::seconds(i)));
    for (int i = 1; i <= 3; ++i) clock.advance(1s);
    for (const auto& waiter : waiters) EXPECT_FALSE(waiter->join());
  }
  EXPECT_EQ(clock.waiters(), 0U);
}

}  // namespace
}  // namespace trainhook::testing
