// SPDX-License-Identifier: Apache-2.0
/// @file
/// ChiefStatus: what the workers of a chief must know of it: whether it has ended by an error, or is about to.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>

#include <trainhook/core/linkage.hpp>

namespace trainhook {

class Coordinator;

namespace detail {

/// One for each chief, shared with its workers. Thread-safe.
class ChiefStatus {
 public:
  /// The chief has ended by `error`, which may be null. The first call counts.
  TRAINHOOK_DECL void fail(const std::exception_ptr& error);

  /// True once the chief has ended by an error. Takes no lock.
  [[nodiscard]] bool has_failed() const noexcept { return failed_; }

  /// For a worker whose chief has ended by an error: what the worker ends by. It names the chief's error and has its
  /// code, unless the code would mean the end of input or a loss, after which a worker would go on: then it is
  /// Cancelled.
  [[nodiscard]] TRAINHOOK_DECL std::exception_ptr error_for_worker() const;

  /// The chief's present session has these threads, which fill the queues for the workers too; null: it has none.
  TRAINHOOK_DECL void set_threads(std::shared_ptr<const Coordinator> threads);

  /// The first error of the chief's threads, after which the queues are closed; null if there is none.
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
#include <trainhook/monitored/impl/chief_status.ipp>
#endif
