// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/core/write_signals.hpp>

#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace trainhook::detail {

inline bool is_pending(int signal) noexcept {
  ::sigset_t pending;
  return ::sigpending(&pending) == 0 && ::sigismember(&pending, signal) == 1;
}

/// Takes a pending signal that this thread blocks. Never waits: another thread may have taken it meanwhile. Returns
/// whether another process sent it.
inline bool take_pending(int signal) noexcept {
  ::sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, signal);
#ifdef __APPLE__
  int taken = 0;
  ::sigwait(&only, &taken);
  return false;
#else
  ::siginfo_t info = {};
  const ::timespec at_once = {};
  while (::sigtimedwait(&only, &info, &at_once) < 0) {
    if (errno != EINTR) return false;
  }
  return info.si_pid != ::getpid();
#endif
}

NoWriteSignals::NoWriteSignals() noexcept : had_pipe_(is_pending(SIGPIPE)), had_size_(is_pending(SIGXFSZ)) {
  ::sigset_t blocked;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGPIPE);
  ::sigaddset(&blocked, SIGXFSZ);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
}

NoWriteSignals::~NoWriteSignals() {
  const int error = errno;
  const bool pipe_of_others = !had_pipe_ && is_pending(SIGPIPE) && take_pending(SIGPIPE);
  const bool size_of_others = !had_size_ && is_pending(SIGXFSZ) && take_pending(SIGXFSZ);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  if (pipe_of_others) ::kill(::getpid(), SIGPIPE);
  if (size_of_others) ::kill(::getpid(), SIGXFSZ);
  errno = error;
}

}  // namespace trainhook::detail
