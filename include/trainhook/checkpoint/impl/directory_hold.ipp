// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/directory_hold.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/whole_file.hpp>

namespace trainhook::detail {

/// The file that is locked. It stays.
inline std::string lock_path(const std::string& directory) { return join_path(directory, ".checkpoint_lock"); }

inline std::string lease_path(const std::string& directory) { return join_path(directory, ".checkpoint_lease"); }

/// The newest checkpoint in a directory, of any basename; empty if there is none.
inline std::string newest_on_disk(FileSystem& file_system, const std::string& directory) {
  const std::vector<std::string> all = checkpoints_on_disk(file_system, directory);
  return all.empty() ? std::string() : all.back();
}

DirectoryHold::DirectoryHold(FileSystem& file_system, std::string directory, Clock& clock)
    : file_system_(&file_system), directory_(std::move(directory)), me_(new_holder()) {
  constexpr Duration kPause = std::chrono::milliseconds(20);
  bool has_locks = true;
  const auto take = [&] {
    try {
      if (has_locks) lock_ = file_system.lock_file(lock_path(directory_));
    } catch (const UnimplementedError& error) {
      has_locks = false;
      log_info("{}; a lease in '{}' is used instead of a lock", error.what(), directory_);
    }
    if (!has_locks) lease_ = std::make_unique<LockLease>(file_system, lease_path(directory_));
  };
  const Duration deadline = clock.monotonic_now() + kLongestWait;
  for (bool waits = false;; waits = true) {
    const std::optional<LockHolder> ending = ending_holder();  // read first: if it ends now, `take` succeeds
    try {
      take();
      break;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::FailedPrecondition || !ending || clock.monotonic_now() >= deadline) {
        throw_error(error.code(),
                    fmt::format("{}. If it is certain that nothing else saves into '{}', switch the lock off: "
                                "directory_lock = DirectoryLock::None",
                                error.what(), directory_));
      }
    }
    if (!waits) log_info("Waits for {}, which has '{}' and is ending.", holder_name(ending), directory_);
    sleep_until(clock, clock.monotonic_now() + kPause);
  }
  newest_ = step_of_checkpoint(newest_on_disk(file_system, directory_)).value_or(-1);
  if (lease_ != nullptr) return;
  try {
    sign_lock();
  } catch (const Error& error) {  // a full disk, which may be what `prune_checkpoints` is called for
    log_warning("the lock {} could not be written, which is tried again at the next save: {}", lock_path(directory_),
                error);
  }
}

DirectoryHold::~DirectoryHold() {
  if (lock_ == nullptr || !process_.is_here()) return;
  try {
    if (is_mine()) file_system_->create_writable(lock_path(directory_), WriteMode::Truncate)->close();
  } catch (...) {  // it names a process that does not hold it: the next holder writes its own name
  }
}

void DirectoryHold::confirm(std::int64_t global_step) {
  process_.expect_here(fmt::format("the lock of '{}'", directory_), "save there, or use another directory");
  const std::scoped_lock lock(mutex_);
  if (lease_ != nullptr) {
    lease_->confirm([this] { expect_untouched(); });
  } else {
    confirm_lock();
  }
  newest_ = (std::max)(newest_, global_step);
}

void DirectoryHold::confirm_lock() {
  const bool is_held = lock_ != nullptr && lock_->is_current();
  const bool is_signed = is_mine();
  if (is_held && is_signed) return;
  if (!is_held && !is_signed) expect_untouched();
  if (!is_held) {
    lock_.reset();  // it might lock the same file, which has another inode now
    lock_ = file_system_->lock_file(lock_path(directory_));
    static_cast<void>(is_mine());  // throws if another one has come and gone before we locked it
  }
  sign_lock();
  if (is_held || is_signed) return;
  log_warning(
      "the lock file {} was removed and is recreated; "
      "leave it there, it keeps other processes from saving into the same directory",
      lock_path(directory_));
}

bool DirectoryHold::is_mine() const {
  const std::optional<LockHolder> holder = read_holder(*file_system_, lock_path(directory_));
  if (!holder || holder->id == me_.id) return holder.has_value();
  throw FailedPreconditionError(
      "the lock {} now belongs to {}, because its file was removed or replaced; this session saves nothing more there. "
      "End one of the two, or give each its own directory",
      lock_path(directory_), holder_name(holder));
}

void DirectoryHold::sign_lock() {
  const std::string path = lock_path(directory_);
  expect_own(*file_system_, target_to_write(*file_system_, path), path, &is_holder_text);
  me_.process = this_process();
  std::unique_ptr<WritableFile> file = file_system_->create_writable(path, WriteMode::Truncate);
  file->append(holder_text("lock", me_));
  file->sync();  // on a network file system others see it then
  signature_ = std::move(file);
}

void DirectoryHold::announce_end() noexcept {
  if (lease_ != nullptr) return lease_->announce_end();
  if (!process_.is_here()) return;
  try {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(me_.is_ending, true)) return;
    if (signature_ != nullptr && is_mine()) signature_->append(kEndingLine);
  } catch (...) {  // others are refused then, instead of waiting
  }
}

std::optional<LockHolder> DirectoryHold::ending_holder() const {
  for (const std::string& path : {lock_path(directory_), lease_path(directory_)}) {
    try {
      std::optional<LockHolder> holder = read_holder(*file_system_, path);
      if (holder && holder->is_ending && is_alive(holder->process) == true) return holder;
    } catch (const Error&) {  // being written, or unreadable: not known to be ending
    }
  }
  return std::nullopt;
}

void DirectoryHold::expect_untouched() const {
  const std::string newest = newest_on_disk(*file_system_, directory_);
  const std::int64_t step = step_of_checkpoint(newest).value_or(-1);
  if (step <= newest_) return;
  throw FailedPreconditionError(
      "the {} {} was removed, and another session has trained there to step {}, which it saved as {}; this session, "
      "whose newest step there is {}, saves nothing more. End it, and continue from the other's checkpoint or in "
      "another directory",
      lease_ != nullptr ? "lease" : "lock file", lease_ != nullptr ? lease_path(directory_) : lock_path(directory_),
      step, newest, newest_);
}

void DirectoryHold::refresh_if_due(SessionRunContext& context) {
  if (refreshed_ && context.now() - *refreshed_ < LockLease::kRefreshPeriod) return;
  refreshed_ = context.now();
  lease_->refresh();
}

}  // namespace trainhook::detail
