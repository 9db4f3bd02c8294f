// SPDX-License-Identifier: Apache-2.0
/// @file
/// ManualClock: time that a test sets by hand.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <mutex>
#include <vector>

#include <trainhook/core/clock.hpp>

namespace trainhook::testing {

/// Stands still until `advance`. Whoever waits for a time wakes when the clock gets there, with `auto_advance` at once. Thread-safe.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(double wall_seconds = 1'700'000'000.0) : wall_start_(wall_seconds) {}

  [[nodiscard]] Duration monotonic_now() override {
    const std::scoped_lock lock(mutex_);
    ++reads_;
    return now_;
  }
  [[nodiscard]] double wall_seconds() override {
    const std::scoped_lock lock(mutex_);
    return wall_start_ + std::chrono::duration<double>(now_).count();
  }

  void advance(Duration by) {
    {
      const std::scoped_lock lock(mutex_);
      now_ += by;
    }
    wake_all();
  }

  /// Lets time jump to whatever deadline somebody waits for.
  void auto_advance(bool on) {
    const std::scoped_lock lock(mutex_);
    auto_advance_ = on;
  }

  bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, Duration deadline,
                  FunctionRef<bool()> ready) override {
    if (ready()) return true;
    const auto waiter = enter(*lock.mutex(), changed, deadline);
    changed.wait(lock, [&] { return ready() || reached(deadline); });
    leave(lock, waiter);
    return ready();
  }

  /// How many threads wait for a time, so that a test can advance the clock when they do: `while (clock.waiters() == 0)
  /// std::this_thread::yield();`
  [[nodiscard]] std::size_t waiters() {
    const std::scoped_lock lock(mutex_);
    return waiters_.size();
  }

  /// How often `monotonic_now` was asked for.
  [[nodiscard]] int reads() {
    const std::scoped_lock lock(mutex_);
    return reads_;
  }

 private:
  struct Waiter {
    std::mutex* mutex;
    std::condition_variable* changed;
    int wakers = 0;  // calls of `advance` that are about to use the two
  };
  using Entry = std::list<Waiter>::iterator;

  Entry enter(std::mutex& mutex, std::condition_variable& changed, Duration deadline) {
    const std::scoped_lock lock(mutex_);
    if (auto_advance_) now_ = (std::max)(now_, deadline);
    return waiters_.insert(waiters_.end(), {&mutex, &changed});
  }

  // The caller may destroy its mutex as soon as it is back, so nobody may be about to lock it.
  void leave(std::unique_lock<std::mutex>& lock, Entry waiter) {
    std::unique_lock own(mutex_);
    if (waiter->wakers > 0) {
      lock.unlock();
      woken_.wait(own, [&] { return waiter->wakers == 0; });
      waiters_.erase(waiter);
      own.unlock();
      lock.lock();
    } else {
      waiters_.erase(waiter);
    }
  }

  void wake_all() {
    std::vector<Entry> entries;
    {
      const std::scoped_lock lock(mutex_);
      for (Entry entry = waiters_.begin(); entry != waiters_.end(); ++entry) {
        ++entry->wakers;
        entries.push_back(entry);
      }
    }
    for (const Entry entry : entries) {
      {
        const std::scoped_lock lock(*entry->mutex);  // not between a waiter's look at the time and its wait
        entry->changed->notify_all();
      }
      const std::scoped_lock lock(mutex_);
      --entry->wakers;
      woken_.notify_all();
    }
  }

  bool reached(Duration deadline) {
    const std::scoped_lock lock(mutex_);
    return now_ >= deadline;
  }

  std::mutex mutex_;
  double wall_start_;
  Duration now_ = std::chrono::hours(1);
  int reads_ = 0;
  bool auto_advance_ = false;
  std::list<Waiter> waiters_;
  std::condition_variable woken_;
};

}  // namespace trainhook::testing
