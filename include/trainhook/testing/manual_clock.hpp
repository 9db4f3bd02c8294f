// SPDX-License-Identifier: Apache-2.0
/// @file
/// ManualClock: a clock that a test sets.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <mutex>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook::testing {

/// Time stands still until `advance`. A thread that waits for a deadline wakes when the clock reaches it, or
/// immediately with `auto_advance`. Thread-safe.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(double wall_seconds = 1'700'000'000.0) : wall_start_(wall_seconds) {}

  [[nodiscard]] TRAINHOOK_DECL Duration monotonic_now() override;
  [[nodiscard]] TRAINHOOK_DECL double wall_seconds() override;
  TRAINHOOK_DECL void advance(Duration by);

  /// Sets the wall clock, forwards or backwards, as a user or a time server might; monotonic time does not change.
  TRAINHOOK_DECL void set_wall_seconds(double seconds_since_1970);

  /// Lets time jump to the deadline of a waiting thread.
  TRAINHOOK_DECL void auto_advance(bool on);

  TRAINHOOK_DECL bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                                 Duration deadline, FunctionRef<bool()> ready) override;

  /// The number of threads that wait for a deadline, so that a test can advance the clock once they do: `while
  /// (clock.waiters() == 0) std::this_thread::yield();`
  [[nodiscard]] TRAINHOOK_DECL std::size_t waiters();

  /// The number of calls of `monotonic_now`.
  [[nodiscard]] int reads() {
    const std::scoped_lock lock(mutex_);
    return reads_;
  }

 private:
  struct Waiter {
    std::mutex* mutex;
    std::condition_variable* changed;
    int wakers = 0;  // calls of `advance` that are about to use both pointers
  };
  using Entry = std::list<Waiter>::iterator;

  TRAINHOOK_DECL Entry enter(std::mutex& mutex, std::condition_variable& changed, Duration deadline);

  // Waits until no thread is about to lock the caller's mutex, because the caller may destroy it afterwards.
  TRAINHOOK_DECL void leave(std::unique_lock<std::mutex>& lock, Entry waiter);

  TRAINHOOK_DECL void wake_all();
  TRAINHOOK_DECL bool reached(Duration deadline);

  std::mutex mutex_;
  double wall_start_;
  Duration now_ = std::chrono::hours(1);
  int reads_ = 0;
  bool auto_advance_ = false;
  std::list<Waiter> waiters_;
  std::condition_variable woken_;
};

}  // namespace trainhook::testing

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/testing/impl/manual_clock.ipp>
#endif
