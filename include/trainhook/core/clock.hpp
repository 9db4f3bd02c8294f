// SPDX-License-Identifier: Apache-2.0
/// @file
/// Clock: the source of time, replaceable in tests. Periods use a monotonic clock, timestamps the wall clock.
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

  /// Time since an arbitrary start; it never goes backwards. For periods and deadlines.
  [[nodiscard]] virtual Duration monotonic_now() = 0;

  /// Seconds since the Unix epoch, for timestamps in files.
  [[nodiscard]] virtual double wall_seconds() = 0;

  /// Waits on `changed` until `ready()` returns true or `monotonic_now()` reaches `deadline`; returns `ready()`. The
  /// caller holds `lock`.
  virtual bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, Duration deadline,
                          FunctionRef<bool()> ready) = 0;
};

/// The system's clocks.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] TRAINHOOK_DECL Duration monotonic_now() override;
  [[nodiscard]] TRAINHOOK_DECL double wall_seconds() override;
  TRAINHOOK_DECL bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                                 Duration deadline, FunctionRef<bool()> ready) override;
};

/// The system's clock, which the library uses unless an option names another one.
[[nodiscard]] inline Clock& system_clock() {
  static SystemClock* const clock = new SystemClock;  // never destroyed: a session may end while the process does
  return *clock;
}

namespace detail {

/// The clock of an option, which is null unless somebody chose one.
[[nodiscard]] inline Clock& given_or_system(Clock* given) { return given != nullptr ? *given : system_clock(); }

/// Waits until `clock.monotonic_now()` reaches `deadline`.
TRAINHOOK_DECL void sleep_until(Clock& clock, Duration deadline);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/clock.ipp>
#endif
