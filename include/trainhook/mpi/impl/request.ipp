// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of request.hpp.
#pragma once

#include <trainhook/mpi/request.hpp>

#include <chrono>
#include <thread>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/mpi/communicator.hpp>

namespace trainhook::mpi::detail {

TRAINHOOK_DECL bool Request::is_done() {
  int done = 0;
  expect_success(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), call_, rank_);
  return done != 0;
}

TRAINHOOK_DECL void wait_until(FunctionRef<bool()> is_done, const char* what, int rank, Duration max_wait) {
  constexpr int kTriesAtFirst = 64;  // most are done after a few microseconds
  for (int i = 0; i < kTriesAtFirst; ++i) {
    if (is_done()) return;
  }
  Clock& clock = system_clock();
  const Duration deadline = trainhook::detail::deadline_after(clock, max_wait);
  while (!is_done()) {
    if (clock.monotonic_now() >= deadline) {
      throw DeadlineExceededError("rank {} has waited {:.3g} s in {} for other ranks", rank,
                                  std::chrono::duration<double>(max_wait).count(), what);
    }
    std::this_thread::yield();
  }
}

}  // namespace trainhook::mpi::detail
