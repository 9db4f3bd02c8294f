// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of write_signals.hpp.
#pragma once

#include <trainhook/core/write_signals.hpp>

#include <cerrno>

namespace trainhook::detail {

TRAINHOOK_DECL bool is_pending(int signal) noexcept {
  ::sigset_t pending;
  return ::sigpending(&pending) == 0 && ::sigismember(&pending, signal) == 1;
}

/// Takes a signal that this thread blocks and has raised.
TRAINHOOK_DECL void take_pending(int signal) noexcept {
  ::sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, signal);
  int taken = 0;
  ::sigwait(&only, &taken);
}

TRAINHOOK_DECL NoWriteSignals::NoWriteSignals() noexcept
    : had_pipe_(is_pending(SIGPIPE)), had_size_(is_pending(SIGXFSZ)) {
  ::sigset_t blocked;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGPIPE);
  ::sigaddset(&blocked, SIGXFSZ);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
}

TRAINHOOK_DECL NoWriteSignals::~NoWriteSignals() {
  const int error = errno;
  if (!had_pipe_ && is_pending(SIGPIPE)) take_pending(SIGPIPE);
  if (!had_size_ && is_pending(SIGXFSZ)) take_pending(SIGXFSZ);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

}  // namespace trainhook::detail
