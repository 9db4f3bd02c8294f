// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of posix_lock.hpp.
#pragma once

#include <trainhook/io/posix_lock.hpp>

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/core/error.hpp>

namespace trainhook::detail {

class PosixFileLock;

/// The locks of this process. A forked child has copies of their descriptors, which would keep the locks when this
/// process is gone; it closes them.
class HeldLocks {
 public:
  [[nodiscard]] static HeldLocks& instance() {
    static HeldLocks* const locks = new HeldLocks;  // never destroyed: a process may fork while it ends
    return *locks;
  }

  std::mutex mutex{};  // held while a lock is taken or released, and during a fork
  std::vector<PosixFileLock*> locks{};

 private:
  HeldLocks() {
    static_cast<void>(::pthread_atfork([] { instance().mutex.lock(); }, [] { instance().mutex.unlock(); },
                                       [] { instance().leave_in_child(); }));
  }

  inline void leave_in_child() noexcept;
};

class PosixFileLock final : public FileLock {
 public:
  /// The mutex of HeldLocks must be held.
  PosixFileLock(std::string path, FileDescriptor descriptor)
      : path_(std::move(path)), descriptor_(std::move(descriptor)) {
    HeldLocks::instance().locks.push_back(this);
  }
  ~PosixFileLock() override {
    const std::scoped_lock lock(HeldLocks::instance().mutex);
    std::erase(HeldLocks::instance().locks, this);
    leave();
  }

  [[nodiscard]] bool is_current() const override {
    struct ::stat held = {};
    struct ::stat named = {};
    if (!descriptor_.is_open() || ::fstat(descriptor_.number(), &held) != 0) return false;
    if (::stat(path_.c_str(), &named) != 0)
      return on_failure(SystemCall::Find, errno) !=
             OnFailure::NothingThere;  // do not give up for a file that cannot be seen
    return held.st_dev == named.st_dev && held.st_ino == named.st_ino;
  }

  void leave() noexcept { static_cast<void>(descriptor_.close()); }

 private:
  std::string path_;
  FileDescriptor descriptor_;
};

inline void HeldLocks::leave_in_child() noexcept {
  for (PosixFileLock* lock : locks) lock->leave();
  mutex.unlock();
}

std::unique_ptr<FileLock> lock_posix_file(const PosixPath& path) {
  const std::scoped_lock no_fork(HeldLocks::instance().mutex);
  FileDescriptor descriptor = open_descriptor("open lock file", path, O_RDWR | O_CREAT);
  if (repeat_call(SystemCall::Lock, [&] { return ::flock(descriptor.number(), LOCK_EX | LOCK_NB); }) != 0) {
    const bool is_unsupported = on_failure(SystemCall::Lock, errno) == OnFailure::Unsupported;
    if (errno != EWOULDBLOCK) throw_errno("lock", path.name, is_unsupported ? ENOLCK : errno);
    throw FailedPreconditionError(
        "another process or session uses this directory: it holds the lock {}; end it or use another directory",
        path.name);
  }
  return std::make_unique<PosixFileLock>(path.location, std::move(descriptor));
}

}  // namespace trainhook::detail
