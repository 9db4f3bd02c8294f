// SPDX-License-Identifier: Apache-2.0
/// @file
/// LockHolder: what the file of a lock or lease says about the session that holds it. LockLease: a lock for file
/// systems without locks, a file that its holder refreshes.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/process_mark.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/process_identity.hpp>

namespace trainhook::detail {

/// The holder of a lock or lease, from its file:
///
///     trainhook lock 1        (or `lease 1`)
///     host <name>
///     boot <text>
///     process <number>
///     start <text>
///     id <16 hex digits>
///
/// Then one line for each refresh of a lease, which is empty, or `ending` once the holder is about to give the
/// directory up. A lock has only the line `ending`, then. Earlier versions leave the file of a lock empty.
struct LockHolder {
  ProcessIdentity process{};
  std::string id{};        ///< random: a holder knows its own file by it
  bool is_ending = false;  ///< it is about to give the directory up
};

/// The line that says that the holder is ending.
inline constexpr std::string_view kEndingLine = "ending\n";

/// A holder in this process, with a new id.
[[nodiscard]] TRAINHOOK_DECL LockHolder new_holder();

/// @param kind `lock` or `lease`
[[nodiscard]] TRAINHOOK_DECL std::string holder_text(std::string_view kind, const LockHolder& holder);

/// Nothing if the text does not name a holder completely.
[[nodiscard]] TRAINHOOK_DECL std::optional<LockHolder> parse_holder(std::string_view text);

/// Whether it may be the text of a holder, damaged or not.
[[nodiscard]] TRAINHOOK_DECL bool is_holder_text(std::string_view text);

/// The beginning and the end of the file, enough for `parse_holder`; nothing if there is no file.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::string> read_holder_text(FileSystem& file_system,
                                                                         const std::string& path);

/// Nothing if there is no file, or if it does not name a holder.
[[nodiscard]] TRAINHOOK_DECL std::optional<LockHolder> read_holder(FileSystem& file_system, const std::string& path);

/// For messages: `process 17 on host-3`.
[[nodiscard]] TRAINHOOK_DECL std::string holder_name(const std::optional<LockHolder>& holder);

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
