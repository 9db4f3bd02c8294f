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
#include <string_view>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/process_identity.hpp>

namespace trainhook::detail {

/// The holder of a lease, from its file:
///
///     trainhook lease 1
///     host <name>
///     boot <text>
///     process <number>
///     start <text>
///     id <16 hex digits>
///
/// Then one empty line for each refresh.
struct LeaseHolder {
  ProcessIdentity process{};
  std::string id{};  ///< random, unique to each lease
};

[[nodiscard]] TRAINHOOK_DECL std::string lease_text(const LeaseHolder& holder);

/// Nothing if the text is not a complete lease.
[[nodiscard]] TRAINHOOK_DECL std::optional<LeaseHolder> parse_lease(std::string_view text);

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

  /// Checks and refreshes the lease. Rewrites a file that was removed, with a warning.
  /// @throws FailedPreconditionError if another process has taken it over, or in a forked child.
  TRAINHOOK_DECL void confirm();

  /// Appends to the file. If that fails, logs it and tries again at the next call.
  TRAINHOOK_DECL void refresh() noexcept;

 private:
  // The first part of the file; nothing if there is no file.
  [[nodiscard]] TRAINHOOK_DECL std::optional<std::string> read() const;

  // Creates a file of that path with our text and keeps it open. @throws AlreadyExistsError.
  TRAINHOOK_DECL void create(const std::string& path);

  // Replaces the file by our text.
  TRAINHOOK_DECL void replace();

  // True if it has taken the lease; false if the file has disappeared meanwhile.
  TRAINHOOK_DECL bool take_over();

  // Why the lease may be taken over. @throws FailedPreconditionError if it may not. The time of the file `written_now`
  // is the file system's current time.
  [[nodiscard]] TRAINHOOK_DECL std::string why_free(const std::optional<LeaseHolder>& holder,
                                                    const std::string& written_now) const;

  [[nodiscard]] TRAINHOOK_DECL std::string temporary() const;

  FileSystem& file_system_;
  std::string path_;
  LeaseHolder me_;
  std::mutex mutex_;
  std::unique_ptr<WritableFile> file_;  // null after a failure
  std::atomic<bool> warned_ = false;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/lock_lease.ipp>
#endif
