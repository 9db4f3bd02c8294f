// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/mpi/watchdog.hpp>

#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>

namespace trainhook::mpi::detail {

Watchdog::Watchdog(const char* call, Duration max_wait, Clock& clock) noexcept : clock_(clock) {
  try {
    thread_ = trainhook::detail::Thread("mpi::Runtime", [this, call, max_wait] { watch(call, max_wait); });
  } catch (const ResourceExhaustedError& error) {
    log_warning("{}; if other ranks do not come, nothing ends the wait in {}", error.what(), call);
  }
}

Watchdog::~Watchdog() {
  const std::scoped_lock lock(mutex_);
  is_done_ = true;
  changed_.notify_all();
}

void Watchdog::watch(const char* call, Duration max_wait) {
  const auto seconds = [](Duration duration) { return std::chrono::duration<double>(duration).count(); };
  const Duration begin = clock_.monotonic_now();
  const auto is_done = [this] { return is_done_; };
  std::unique_lock lock(mutex_);
  for (Duration report = std::chrono::seconds(60); report < max_wait; report *= 2) {
    if (clock_.wait_until(lock, changed_, begin + report, is_done)) return;
    lock.unlock();
    log_warning("this process has waited {:g} s in {} for other ranks; it ends after {:g} s", seconds(report), call,
                seconds(max_wait));
    lock.lock();
  }
  if (clock_.wait_until(lock, changed_, begin + max_wait, is_done)) return;
  trainhook::detail::log_last_line(fmt::format(
      "the process ends, and the job with it: it has waited {:g} s in {} for other ranks", seconds(max_wait), call));
  std::_Exit(1);
}

}  // namespace trainhook::mpi::detail
