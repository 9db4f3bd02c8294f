// SPDX-License-Identifier: Apache-2.0
/// @file
/// LockLease: a lock for file systems without locks, a file that its holder refreshes.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <trainhook/checkpoint/lock_holder.hpp>
#include <trainhook/core/duration.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/process_mark.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook::detail {

/// Holds the file `path` until it is destroyed. The holder refreshes it by appending to the file. A process that takes
/// the lease over replaces the file, so that a former holder that was suspended cannot write to the new one. Any thread
/// may call any member.
class LockLease {
 public:
  /// The period in which the holder must refresh the file.
  static constexpr Duration kRefreshPeriod = std::chrono::minutes(1);
  /// The age of the file after which a lease expires if its process cannot be checked from here.
  static constexpr Duration kStaleAfter = std::chrono::minutes(3);

  /// Takes the lease. Takes it over, with a log line, if the holder is dead or has stopped refreshing. `file_system`
  /// must outlive this.
  /// @throws FailedPreconditionError, naming the holder, if it is held.
  TRAINHOOK_DECL LockLease(FileSystem& file_system, std::string path);
  LockLease(const LockLease&) = delete;
  LockLease& operator=(const LockLease&) = delete;

  /// Removes the file if this object still holds the lease.
  TRAINHOOK_DECL ~LockLease();

  /// Checks and refreshes the lease. If its file was removed, calls `expect_untouched`, which throws if another holder
  /// has used the lease meanwhile, and then writes the file again, with a warning.
  /// @throws FailedPreconditionError if another process has taken it over, or in a forked child.
  TRAINHOOK_DECL void confirm(FunctionRef<void()> expect_untouched);

  /// Appends to the file. If that fails, logs it and tries again at the next call.
  TRAINHOOK_DECL void refresh() noexcept;

  /// Writes into the file that the holder is ending.
  TRAINHOOK_DECL void announce_end() noexcept;

 private:
  [[nodiscard]] TRAINHOOK_DECL bool is_mine() const;

  // Creates a file of that path with our text and keeps it open. @throws AlreadyExistsError.
  TRAINHOOK_DECL void create(const std::string& path);

  // Replaces the file by our text.
  TRAINHOOK_DECL void replace();

  // True if it has taken the lease; false if the file has disappeared meanwhile.
  TRAINHOOK_DECL bool take_over();

  // Why the lease may be taken over. @throws FailedPreconditionError if it may not. The time of the file `written_now`
  // is the file system's current time.
  [[nodiscard]] TRAINHOOK_DECL std::string why_free(const std::optional<LockHolder>& holder,
                                                    const std::string& written_now) const;

  [[nodiscard]] TRAINHOOK_DECL std::string temporary() const;

  ProcessMark process_;
  FileSystem& file_system_;
  std::string path_;
  LockHolder me_;
  std::mutex mutex_;
  std::unique_ptr<WritableFile> file_;  // null after a failure
  std::atomic<bool> warned_ = false;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/lock_lease.ipp>
#endif
