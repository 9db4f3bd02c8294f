// SPDX-License-Identifier: Apache-2.0
/// @file
/// Thread and WaitCondition: the one place that starts threads. Both may be destroyed in a forked child.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/process_mark.hpp>

namespace trainhook::detail {

/// A thread, or none. The destructor waits for it.
class Thread {
 public:
  TRAINHOOK_DECL Thread() noexcept;
  /// Starts one. @param what names it in the error: "prefetch"
  /// @throws ResourceExhaustedError if the system has no more threads
  TRAINHOOK_DECL Thread(std::string_view what, std::function<void()> body);
  TRAINHOOK_DECL Thread(Thread&& other) noexcept;
  TRAINHOOK_DECL Thread& operator=(Thread&& other) noexcept;
  TRAINHOOK_DECL ~Thread();

  /// True from the start until `join` or `detach`; false in a forked child, where it does not run.
  [[nodiscard]] TRAINHOOK_DECL bool joinable() const noexcept;

  /// Does nothing if there is no thread.
  TRAINHOOK_DECL void join() noexcept;
  TRAINHOOK_DECL void detach() noexcept;

 private:
  struct Started;
  std::unique_ptr<Started> started_;  // left alone in a forked child
};

/// A condition variable on which threads may wait while the process forks: in the child, its destructor would wait for
/// them.
class WaitCondition {
 public:
  WaitCondition() noexcept : variable_() {}
  WaitCondition(const WaitCondition&) = delete;
  WaitCondition& operator=(const WaitCondition&) = delete;
  ~WaitCondition() {
    if (process_.is_here()) std::destroy_at(&variable_);
  }

  void notify_one() noexcept { variable_.notify_one(); }
  void notify_all() noexcept { variable_.notify_all(); }

  template <class Ready>
  void wait(std::unique_lock<std::mutex>& lock, Ready ready) {
    variable_.wait(lock, std::move(ready));
  }

  template <class Duration, class Ready>
  void wait_for(std::unique_lock<std::mutex>& lock, Duration longest, Ready ready) {
    variable_.wait_for(lock, longest, std::move(ready));
  }

  /// For `Clock::wait_until`.
  [[nodiscard]] operator std::condition_variable&() noexcept { return variable_; }

 private:
  union {
    std::condition_variable variable_;
  };
  ProcessMark process_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/thread.ipp>
#endif
