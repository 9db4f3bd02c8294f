// SPDX-License-Identifier: Apache-2.0
/// @file
/// ChiefStatus: tells the workers whether their chief has ended with an error, or is about to.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>

#include <trainhook/core/linkage.hpp>

namespace trainhook {

class Coordinator;

namespace detail {

/// One per chief, shared with its workers. Thread-safe.
class ChiefStatus {
 public:
  /// Records that the chief has ended with `error`, which may be null. Only the first call counts.
  TRAINHOOK_DECL void fail(const std::exception_ptr& error);

  /// True once the chief has ended with an error. Takes no lock.
  [[nodiscard]] bool has_failed() const noexcept { return failed_; }

  /// The error with which a worker ends if its chief has ended with an error. It names the chief's error and has its
  /// code; a code that means the end of input or the loss of a session, after which a worker would continue, becomes
  /// Cancelled.
  [[nodiscard]] TRAINHOOK_DECL std::exception_ptr error_for_worker() const;

  /// Sets the threads of the chief's current session, which fill the queues for the workers too; null: none.
  TRAINHOOK_DECL void set_threads(std::shared_ptr<const Coordinator> threads);

  /// The first error of the chief's threads, after which queues are closed; null if there is none.
  [[nodiscard]] TRAINHOOK_DECL std::exception_ptr thread_error() const;

 private:
  std::atomic<bool> failed_ = false;
  mutable std::mutex mutex_;  // guards what follows
  std::exception_ptr error_;
  std::shared_ptr<const Coordinator> threads_;
};

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/ranks/impl/chief_status.ipp>
#endif
