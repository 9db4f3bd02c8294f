// SPDX-License-Identifier: Apache-2.0
/// @file
/// Watchdog: a limit for calls of MPI that cannot be given up.
#pragma once

#include <mutex>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/thread.hpp>

namespace trainhook::mpi::detail {

/// Ends this process, and by that the job, unless it is destroyed in time: for calls that cannot be given up and after
/// or before which MPI cannot end the job. A log line says after a minute how long it has waited, and then after twice
/// that time each.
class Watchdog {
 public:
  TRAINHOOK_DECL Watchdog(const char* call, Duration max_wait, Clock& clock = system_clock()) noexcept;
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  TRAINHOOK_DECL ~Watchdog();

 private:
  TRAINHOOK_DECL void watch(const char* call, Duration max_wait);

  Clock& clock_;
  std::mutex mutex_;
  trainhook::detail::WaitCondition changed_;
  bool is_done_ = false;
  trainhook::detail::Thread thread_;  // the last one, because it uses the others
};

}  // namespace trainhook::mpi::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/mpi/impl/watchdog.ipp>
#endif
