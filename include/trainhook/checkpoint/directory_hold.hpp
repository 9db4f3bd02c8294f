// SPDX-License-Identifier: Apache-2.0
/// @file
/// DirectoryHold: keeps other processes from saving into a directory, on any file system.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <trainhook/checkpoint/lock_lease.hpp>
#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook::detail {

/// Holds a directory until it is destroyed, by a lock of the file system or, if it has none, by a LockLease.
class DirectoryHold {
 public:
  /// `file_system` must outlive this. @throws FailedPreconditionError if the directory is held already; the message
  /// names the option that turns the lock off.
  TRAINHOOK_DECL DirectoryHold(FileSystem& file_system, std::string directory);

  /// Call it before each commit, on any thread. Recreates a lock file that was removed, with a warning.
  /// @throws FailedPreconditionError if the directory belongs to someone else by now.
  TRAINHOOK_DECL void confirm();

  /// Call it after each run. Does nothing for a lock; refreshes a lease at the first call and every
  /// `LockLease::kRefreshPeriod` by the run's clock.
  void keep(SessionRunContext& context) {
    if (lease_ != nullptr) refresh_if_due(context);
  }

 private:
  TRAINHOOK_DECL void refresh_if_due(SessionRunContext& context);

  FileSystem* file_system_;
  std::string directory_;
  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<LockLease> lease_;
  std::optional<Duration> refreshed_;  // on the monotonic clock
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/directory_hold.ipp>
#endif
