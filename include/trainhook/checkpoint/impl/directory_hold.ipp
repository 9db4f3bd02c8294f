// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of directory_hold.hpp.
#pragma once

#include <trainhook/checkpoint/directory_hold.hpp>

#include <utility>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/io/path.hpp>

namespace trainhook::detail {

/// The file that is locked. It stays.
TRAINHOOK_DECL std::string lock_path(const std::string& directory) { return join_path(directory, ".checkpoint_lock"); }

TRAINHOOK_DECL DirectoryHold::DirectoryHold(FileSystem& file_system, std::string directory)
    : file_system_(&file_system), directory_(std::move(directory)) {
  try {
    try {
      lock_ = file_system.lock_file(lock_path(directory_));
    } catch (const UnimplementedError& error) {
      log_info("{}; a lease in '{}' is used instead of a lock", error.what(), directory_);
      lease_ = std::make_unique<LockLease>(file_system, join_path(directory_, ".checkpoint_lease"));
    }
  } catch (const Error& error) {
    throw_error(error.code(),
                fmt::format("{}. If it is certain that nothing else saves into '{}', switch the lock off: "
                            "directory_lock = DirectoryLock::None",
                            error.what(), directory_));
  }
}

TRAINHOOK_DECL void DirectoryHold::confirm() {
  if (lease_ != nullptr) {
    lease_->confirm();
  } else if (!lock_->is_current()) {
    lock_ = file_system_->lock_file(lock_path(directory_));
    log_warning(
        "the lock file {} was removed and is recreated; "
        "leave it there, it keeps other processes from saving into the same directory",
        lock_path(directory_));
  }
}

TRAINHOOK_DECL void DirectoryHold::refresh_if_due(SessionRunContext& context) {
  if (refreshed_ && context.now() - *refreshed_ < LockLease::kRefreshPeriod) return;
  refreshed_ = context.now();
  lease_->refresh();
}

}  // namespace trainhook::detail
