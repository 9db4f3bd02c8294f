// SPDX-License-Identifier: Apache-2.0
/// @file
/// DirectoryHold: keeps other processes from saving into a directory, on any file system.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <trainhook/checkpoint/lock_lease.hpp>
#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/process_mark.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook {

class Clock;

}  // namespace trainhook

namespace trainhook::detail {

/// Holds a directory until it is destroyed, by a lock of the file system or, if it has none, by a LockLease. The file
/// names the holder (see LockHolder), and the id in it decides who has the directory: a file may be removed and
/// made again, and on some file systems its inode changes.
class DirectoryHold {
 public:
  /// How long a new holder waits for one that is ending.
  static constexpr Duration kLongestWait = std::chrono::seconds(10);

  /// Takes the directory. Waits if it is held by a process of this machine that has called `announce_end`, by `clock`.
  /// `file_system` must outlive this.
  /// @throws FailedPreconditionError if the directory is held; the message names the option that turns the lock off.
  TRAINHOOK_DECL DirectoryHold(FileSystem& file_system, std::string directory, Clock& clock);
  DirectoryHold(const DirectoryHold&) = delete;
  DirectoryHold& operator=(const DirectoryHold&) = delete;

  /// Gives the directory up. The lock file then names no holder.
  TRAINHOOK_DECL ~DirectoryHold();

  /// Call it before the commit of a checkpoint of `global_step`, on any thread. Recreates a file that was removed, with
  /// a warning.
  /// @throws FailedPreconditionError, naming the other one or what it saved, if someone else has the directory or had
  /// it since the last call.
  TRAINHOOK_DECL void confirm(std::int64_t global_step);

  /// Call it after each run. Refreshes a lease at the first call and every `LockLease::kRefreshPeriod` by the run's
  /// clock, and announces the end if a stop was requested.
  void keep(SessionRunContext& context) {
    if (lease_ != nullptr) refresh_if_due(context);
    if (context.stop_requested()) announce_end();
  }

  /// Writes into the file that this holder is about to give the directory up. Later calls do nothing. Call it on any
  /// thread.
  TRAINHOOK_DECL void announce_end() noexcept;

 private:
  // A holder of this machine that is ending; nothing if it ended or was killed.
  [[nodiscard]] TRAINHOOK_DECL std::optional<LockHolder> ending_holder() const;

  // Whether the lock's file has our id; false if it names nobody. @throws FailedPreconditionError for another holder.
  [[nodiscard]] TRAINHOOK_DECL bool is_mine() const;

  TRAINHOOK_DECL void confirm_lock();
  TRAINHOOK_DECL void sign_lock();

  // For a file that was removed. @throws FailedPreconditionError if someone else has saved into the directory.
  TRAINHOOK_DECL void expect_untouched() const;

  TRAINHOOK_DECL void refresh_if_due(SessionRunContext& context);

  FileSystem* file_system_;
  std::string directory_;
  std::unique_ptr<LockLease> lease_;   // null: a lock
  std::optional<Duration> refreshed_;  // on the monotonic clock
  std::mutex mutex_;                   // for what follows
  ProcessMark process_;
  LockHolder me_;  // in the lock's file
  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<WritableFile> signature_;  // the lock's file with our text; null if it could not be written
  std::int64_t newest_ = -1;                 // the newest step in the directory that we found or confirmed
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/directory_hold.ipp>
#endif
