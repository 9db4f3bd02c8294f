// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/core/clock.hpp>

namespace trainhook {

Clock::~Clock() = default;

Duration SystemClock::monotonic_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

double SystemClock::wall_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

bool SystemClock::wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, Duration deadline,
                             FunctionRef<bool()> ready) {
  return changed.wait_until(lock, std::chrono::steady_clock::time_point(deadline), ready);
}

}  // namespace trainhook

namespace trainhook::detail {

void sleep_until(Clock& clock, Duration deadline) {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  clock.wait_until(lock, never, deadline, [] { return false; });
}

}  // namespace trainhook::detail
