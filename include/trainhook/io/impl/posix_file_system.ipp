// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/io/posix_file_system.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <dirent.h>
#include <fcntl.h>
#include <list>
#include <mutex>
#include <pthread.h>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <trainhook/core/error.hpp>
#include <trainhook/io/path.hpp>

namespace trainhook::detail {

/// The locks of this process. A forked child has copies of their descriptors, which would keep the locks when this
/// process is gone; it closes them.
class HeldLocks {
 public:
  [[nodiscard]] static HeldLocks& instance() {
    static HeldLocks* const locks = new HeldLocks;  // never destroyed: a process may fork while it ends
    return *locks;
  }

  std::mutex mutex{};  // held while a lock is taken or released, and during a fork
  std::vector<FileDescriptor*> descriptors{};

 private:
  HeldLocks() {
    static_cast<void>(::pthread_atfork([] { instance().mutex.lock(); }, [] { instance().mutex.unlock(); },
                                       [] { instance().leave_in_child(); }));
  }

  void leave_in_child() noexcept {
    for (FileDescriptor* const descriptor : descriptors) static_cast<void>(descriptor->close());
    mutex.unlock();
  }
};

class PosixFileLock final : public FileLock {
 public:
  /// The mutex of HeldLocks must be held.
  PosixFileLock(std::string path, FileDescriptor descriptor)
      : path_(std::move(path)), descriptor_(std::move(descriptor)) {
    HeldLocks::instance().descriptors.push_back(&descriptor_);
  }
  ~PosixFileLock() override {
    const std::scoped_lock lock(HeldLocks::instance().mutex);
    std::erase(HeldLocks::instance().descriptors, &descriptor_);
    static_cast<void>(descriptor_.close());
  }

  [[nodiscard]] bool is_current() const override {
    struct ::stat held = {};
    struct ::stat named = {};
    if (!descriptor_.is_open() || ::fstat(descriptor_.number(), &held) != 0) return false;
    if (::stat(path_.c_str(), &named) != 0)  // do not give up for a file that cannot be seen
      return on_failure(SystemCall::Find, errno) != OnFailure::NothingThere;
    return held.st_dev == named.st_dev && held.st_ino == named.st_ino;
  }

 private:
  std::string path_;
  FileDescriptor descriptor_;
};

/// Implements `FileSystem::lock_file` with `flock`.
inline std::unique_ptr<FileLock> lock_posix_file(const PosixPath& path) {
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

/// False if there is nothing of that name; other failures are errors, never "does not exist".
inline bool find_status(const PosixPath& path, struct ::stat& status) {
  if (repeat_call(SystemCall::Find, [&] { return ::stat(path.location.c_str(), &status); }) == 0) return true;
  if (on_failure(SystemCall::Find, errno) == OnFailure::NothingThere) return false;
  throw_errno("examine", path.name, errno);
}

inline struct ::stat status_of(const PosixPath& path) {
  struct ::stat status = {};
  if (!find_status(path, status)) throw_errno("examine", path.name, errno);
  return status;
}

/// Empty if the system does not tell, for example because the directory was removed.
inline std::string current_directory() {
  std::array<char, PATH_MAX> path{};
  return ::getcwd(path.data(), path.size()) != nullptr && path[0] == '/' ? path.data() : "";
}

}  // namespace trainhook::detail

namespace trainhook {

PosixFileSystem::PosixFileSystem(std::string directory) : directory_(std::move(directory)) {
  if (!detail::is_absolute_path(directory_))
    throw InvalidArgumentError("PosixFileSystem: '{}' is not an absolute path", directory_);
}

detail::PosixPath PosixFileSystem::at(const std::string& path) const {
  return {path, directory_.empty() || path.empty() ? path : join_path(directory_, path)};
}

std::unique_ptr<ReadableFile> PosixFileSystem::open_readable(const std::string& path) {
  return detail::open_posix_file(at(path));
}

std::unique_ptr<WritableFile> PosixFileSystem::create_writable(const std::string& path, WriteMode mode) {
  return detail::create_posix_file(at(path), mode);
}

std::unique_ptr<WritableFile> PosixFileSystem::open_appendable(const std::string& path) {
  return detail::open_posix_appendable(at(path));
}

void PosixFileSystem::truncate(const std::string& path, std::uint64_t size) {
  const std::string location = at(path).location;
  if (detail::repeat_call(detail::SystemCall::Write,
                          [&] { return ::truncate(location.c_str(), static_cast<off_t>(size)); }) != 0)
    detail::throw_errno("cut", path, errno);
}

PathTarget PosixFileSystem::resolve(const std::string& path) { return detail::resolve_posix_path(at(path)); }

FileSystem& PosixFileSystem::at_current_directory() {
  if (!directory_.empty()) return *this;
  const std::string directory = detail::current_directory();
  if (directory.empty()) return *this;
  static std::mutex mutex;
  static auto* const systems = new std::list<PosixFileSystem>;  // never destroyed, as posix_file_system()
  const std::scoped_lock lock(mutex);
  const auto found = std::ranges::find(*systems, directory, &PosixFileSystem::directory_);
  return found != systems->end() ? *found : systems->emplace_back(directory);
}

bool PosixFileSystem::exists(const std::string& path) {
  struct ::stat status = {};
  return detail::find_status(at(path), status);
}

bool PosixFileSystem::is_directory(const std::string& path) {
  struct ::stat status = {};
  return detail::find_status(at(path), status) && S_ISDIR(status.st_mode);
}

std::uint64_t PosixFileSystem::file_size(const std::string& path) {
  const struct ::stat status = detail::status_of(at(path));
  if (S_ISDIR(status.st_mode)) detail::throw_errno("measure", path, EISDIR);
  return static_cast<std::uint64_t>(status.st_size);
}

double PosixFileSystem::modification_time(const std::string& path) {
  const struct ::stat status = detail::status_of(at(path));
  return static_cast<double>(status.st_mtim.tv_sec) + 1e-9 * static_cast<double>(status.st_mtim.tv_nsec);
}

std::vector<std::string> PosixFileSystem::list_directory(const std::string& path) {
  const std::string location = at(path).location;
  std::vector<std::string> names;
  const int result = detail::repeat_call(detail::SystemCall::Read, [&] {  // from the start each time
    names.clear();
    int number = 0;
    if (const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(location.c_str()), &::closedir); !directory) {
      number = errno;
    } else {
      // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream
      for (errno = 0; const dirent* entry = ::readdir(directory.get()); errno = 0) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") names.emplace_back(name);
      }
      number = errno;
    }
    errno = number;
    return number == 0 ? 0 : -1;
  });
  if (result != 0) detail::throw_errno("list", path, errno);
  std::ranges::sort(names);
  return names;
}

void PosixFileSystem::make_directories(const std::string& path) {
  if (path.empty() || is_directory(path)) return;
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.back() == '/') trimmed.pop_back();
  if (PathTarget target = resolve(trimmed); target.kind == PathKind::Nothing) trimmed = std::move(target.path);
  const std::string parent = parent_path(trimmed);
  if (parent != trimmed) make_directories(parent);
  if (::mkdir(at(trimmed).location.c_str(), 0777) != 0) {
    const int number = errno;
    if (number == EEXIST && is_directory(trimmed)) return;  // another process was faster
    detail::throw_errno("create directory", trimmed, number == EEXIST ? ENOTDIR : number);
  }
  sync_directory(parent);
}

void PosixFileSystem::remove_file(const std::string& path) {
  if (::unlink(at(path).location.c_str()) != 0) detail::throw_errno("remove", path, errno);
}

void PosixFileSystem::remove_directory(const std::string& path) {
  if (::rmdir(at(path).location.c_str()) != 0) detail::throw_errno("remove directory", path, errno);
}

void PosixFileSystem::rename(const std::string& from, const std::string& to) {
  if (::rename(at(from).location.c_str(), at(to).location.c_str()) != 0)
    detail::throw_errno(fmt::format("rename {} to", from), to, errno);
}

void PosixFileSystem::sync_directory(const std::string& path) { detail::sync_posix_directory(at(path)); }

std::unique_ptr<FileLock> PosixFileSystem::lock_file(const std::string& path) {
  return detail::lock_posix_file(at(path));
}

FileSystem& posix_file_system() {
  static auto* const system = new PosixFileSystem;  // never destroyed: files may be closed while the program ends
  return *system;
}

}  // namespace trainhook
