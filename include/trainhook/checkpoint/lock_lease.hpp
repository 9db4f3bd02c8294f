// SPDX-License-Identifier: Apache-2.0
/// @file
/// LockLease: a lock for file systems that have none, held by a file that is refreshed.
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

/// Who has a lease, as its file says:
///
///     trainhook lease 1
///     host <name>
///     boot <text>
///     process <number>
///     start <text>
///     id <16 hex digits>
///
/// Empty lines follow, one for each refresh.
struct LeaseHolder {
  ProcessIdentity process{};
  std::string id{};  ///< random: no two leases have the same
};

[[nodiscard]] TRAINHOOK_DECL std::string lease_text(const LeaseHolder& holder);

/// Nothing if the text is not that of a lease, or not all of it.
[[nodiscard]] TRAINHOOK_DECL std::optional<LeaseHolder> parse_lease(std::string_view text);

/// Holds the file `path` until it is destroyed. A holder refreshes the file by appending to it: a process that takes
/// the lease over replaces the file, so that a former holder, stopped for a while, cannot write into the new one. Any
/// thread may call any member.
class LockLease {
 public:
  /// How often the holder must refresh it.
  static constexpr Duration kRefreshPeriod = std::chrono::minutes(1);
  /// A holder whose process cannot be seen from here has it until the file is that old.
  static constexpr Duration kStaleAfter = std::chrono::minutes(3);

  /// Takes the lease; if the holder is dead or silent, over from it, with a log line. `file_system` must outlive this.
  /// @throws FailedPreconditionError, naming the holder, if it is held.
  TRAINHOOK_DECL LockLease(FileSystem& file_system, std::string path);
  LockLease(const LockLease&) = delete;
  LockLease& operator=(const LockLease&) = delete;

  /// Removes the file if it is still this one's.
  TRAINHOOK_DECL ~LockLease();

  /// Refreshes the lease, and makes sure of it: a file that was removed is written again, with a warning.
  /// @throws FailedPreconditionError if another process has taken it over, or in a forked child.
  TRAINHOOK_DECL void confirm();

  /// Appends to the file. If that fails, it is logged, and tried again at the next call.
  TRAINHOOK_DECL void refresh() noexcept;

 private:
  // The file's beginning; nothing if there is no file.
  [[nodiscard]] TRAINHOOK_DECL std::optional<std::string> read() const;

  // Creates a file of that path with our text and keeps it open. @throws AlreadyExistsError.
  TRAINHOOK_DECL void create(const std::string& path);

  // Makes our text the file, whatever it holds now.
  TRAINHOOK_DECL void replace();

  // True if the lease is taken; false if its file is gone meanwhile.
  TRAINHOOK_DECL bool take_over();

  // Why the lease may be taken over from its holder. @throws FailedPreconditionError if it may not. The file
  // `written_now` shows the file system's time.
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
