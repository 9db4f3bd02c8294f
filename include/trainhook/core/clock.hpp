// SPDX-License-Identifier: Apache-2.0
/// @file
/// Time as something that is handed in: periods from a monotonic clock, stamps from the wall clock.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook {

/// The source of time. Implementations may be called from several threads at once.
class Clock {
 public:
  TRAINHOOK_DECL virtual ~Clock();

  /// Time since an arbitrary start, never going backwards: for periods and deadlines.
  [[nodiscard]] virtual Duration monotonic_now() = 0;

  /// Seconds since the Unix epoch: for stamps in files.
  [[nodiscard]] virtual double wall_seconds() = 0;

  /// Waits on `changed` until `ready()` holds or `monotonic_now()` reaches `deadline`; gives `ready()` as it then is.
  virtual bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, Duration deadline,
                          FunctionRef<bool()> ready) = 0;
};

/// `duration` from now, as a time to wait for. What is too far away to be told is the end of time: `Duration::max()`
/// waits for ever.
template <class Rep, class Period>
[[nodiscard]] Duration deadline_after(Clock& clock, std::chrono::duration<Rep, Period> duration) {
  using Given = std::chrono::duration<Rep, Period>;
  const Duration now = clock.monotonic_now();
  const Duration longest = now > Duration::zero() ? Duration::max() - now : Duration::max();
  return duration > std::chrono::duration_cast<Given>(longest) ? Duration::max() : now + Duration(duration);
}

/// The machine's own clocks.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] TRAINHOOK_DECL Duration monotonic_now() override;
  [[nodiscard]] TRAINHOOK_DECL double wall_seconds() override;
  TRAINHOOK_DECL bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                                 Duration deadline, FunctionRef<bool()> ready) override;
};

/// The clock that is used where none is given.
[[nodiscard]] inline Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/clock.ipp>
#endif
