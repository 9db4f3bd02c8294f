// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of posix_file_system.hpp.
#pragma once

#include <trainhook/io/posix_file_system.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include <trainhook/io/path.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL ErrnoMeaning errno_meaning(int number) noexcept {
  switch (number) {
    case ENOENT: return {ErrorCode::NotFound, "check the path and that its directory exists"};
    case EEXIST: return {ErrorCode::AlreadyExists, "remove it or choose another name"};
    case EACCES:
    case EPERM: return {ErrorCode::PermissionDenied, "check owner and permissions of the file and its directory"};
    case EROFS: return {ErrorCode::PermissionDenied, "choose a directory on a file system that can be written"};
    case ENOSPC: return {ErrorCode::ResourceExhausted, "free space on this disk"};
    case EDQUOT: return {ErrorCode::ResourceExhausted, "free space or raise the quota"};
    case EFBIG: return {ErrorCode::ResourceExhausted, "raise the limit of file sizes (ulimit -f)"};
    case EMFILE:
    case ENFILE: return {ErrorCode::ResourceExhausted, "raise the limit of open files (ulimit -n)"};
    case ENOMEM: return {ErrorCode::ResourceExhausted, "free memory"};
    case EISDIR: return {ErrorCode::FailedPrecondition, "give the path of a file"};
    case ENOTDIR: return {ErrorCode::FailedPrecondition, "a part of the path is a file; choose another directory"};
    case ENOTEMPTY: return {ErrorCode::FailedPrecondition, "empty the directory first"};
    case EXDEV: return {ErrorCode::FailedPrecondition, "keep both names on one file system"};
    case EBUSY:
    case ETXTBSY: return {ErrorCode::FailedPrecondition, "another program uses it"};
    case EINVAL:
    case ELOOP:
    case ENAMETOOLONG: return {ErrorCode::InvalidArgument, "choose another path"};
    case ENOSYS:
    case EOPNOTSUPP:
    case ENOLCK: return {ErrorCode::Unimplemented, "this file system does not support it"};
    case EIO: return {ErrorCode::DataLoss, "the device failed: check it before trusting this file"};
    default: return {ErrorCode::Unknown, "see the system's message"};
  }
}

[[noreturn]] TRAINHOOK_DECL void throw_errno(std::string_view operation, std::string_view path, int number) {
  const ErrnoMeaning meaning = errno_meaning(number);
  throw_error(meaning.code, fmt::format("cannot {} {}: {} ({})", operation, path,
                                        std::generic_category().message(number), meaning.way_out));
}

/// Repeats a call that a signal interrupted.
template <class Call>
auto retry_on_signal(Call call) noexcept {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

/// Owns a file descriptor. A close that is interrupted has closed: it is never repeated.
class FileDescriptor {
 public:
  explicit FileDescriptor(int number) noexcept : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor() { static_cast<void>(close()); }

  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] bool is_open() const noexcept { return number_ >= 0; }

  /// The error number, or 0.
  [[nodiscard]] int close() noexcept {
    if (number_ < 0) return 0;
    const int failed = ::close(std::exchange(number_, -1));
    return failed != 0 && errno != EINTR ? errno : 0;
  }

 private:
  int number_;
};

TRAINHOOK_DECL FileDescriptor open_descriptor(std::string_view operation, const std::string& path, int flags) {
  const int number = retry_on_signal([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); });
  if (number < 0) throw_errno(operation, path, errno);
  return FileDescriptor(number);
}

/// The error number, or 0.
[[nodiscard]] TRAINHOOK_DECL int sync_descriptor(int descriptor) noexcept {
#ifdef F_FULLFSYNC  // on Apple's systems fsync stops at the drive's cache
  if (retry_on_signal([&] { return ::fcntl(descriptor, F_FULLFSYNC); }) == 0) return 0;
#endif
  return retry_on_signal([&] { return ::fsync(descriptor); }) == 0 ? 0 : errno;
}

class PosixWritableFile final : public WritableFile {
 public:
  PosixWritableFile(std::string path, FileDescriptor descriptor)
      : path_(std::move(path)), descriptor_(std::move(descriptor)) {}

  [[nodiscard]] const std::string& path() const noexcept override { return path_; }
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }

  void append(std::span<const std::byte> bytes) override {
    expect_usable();
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t written = retry_on_signal([&] {
        return ::pwrite(descriptor_.number(), bytes.data() + done, bytes.size() - done,
                        static_cast<off_t>(size_ + done));
      });
      if (written <= 0) {
        const int number = written < 0 ? errno : ENOSPC;
        broken_ = retry_on_signal([&] { return ::ftruncate(descriptor_.number(), static_cast<off_t>(size_)); }) != 0;
        throw_errno("write to", path_, number);
      }
      done += static_cast<std::size_t>(written);
    }
    size_ += bytes.size();
    start_write_back();
  }

  void reserve(std::uint64_t bytes) override {
    expect_usable();
#ifdef FALLOC_FL_KEEP_SIZE  // not posix_fallocate: where the file system cannot reserve, that writes zeros instead
    if (bytes <= size_) return;
    reserved_ = bytes;
    const int result = retry_on_signal(
        [&] { return ::fallocate(descriptor_.number(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)); });
    if (result != 0 && errno_meaning(errno).code == ErrorCode::ResourceExhausted)
      throw_errno(fmt::format("reserve {} bytes for", bytes), path_, errno);
#endif
  }

  void sync() override {
    expect_usable();
    if (reserved_ > size_) static_cast<void>(::ftruncate(descriptor_.number(), static_cast<off_t>(size_)));
    reserved_ = 0;
    if (const int number = sync_descriptor(descriptor_.number()); number != 0) {
      broken_ = true;
      throw_errno("sync", path_, number);
    }
  }

  void close() override {
    if (const int number = descriptor_.close(); number != 0) throw_errno("close", path_, number);
  }

 private:
  void expect_usable() const {
    if (!descriptor_.is_open()) throw FailedPreconditionError("file {} is closed already", path_);
    if (broken_) throw FailedPreconditionError("file {} failed before and cannot be trusted; write another one", path_);
  }

  /// Lets the disk work while the caller prepares the next bytes, so that the final sync has little left to do.
  void start_write_back() noexcept {
#ifdef SYNC_FILE_RANGE_WRITE
    constexpr std::uint64_t kWindow = 8u << 20;
    if (size_ - handed_over_ < kWindow) return;
    static_cast<void>(::sync_file_range(descriptor_.number(), static_cast<off_t>(handed_over_),
                                        static_cast<off_t>(size_ - handed_over_),
                                        SYNC_FILE_RANGE_WRITE));  // a hint: sync() reports what goes wrong
    handed_over_ = size_;
#endif
  }

  std::string path_;
  FileDescriptor descriptor_;
  std::uint64_t size_ = 0;
  std::uint64_t reserved_ = 0;  // the disk keeps room for so many until the next sync
  [[maybe_unused]] std::uint64_t handed_over_ = 0;
  bool broken_ = false;
};

class PosixReadableFile final : public ReadableFile {
 public:
  PosixReadableFile(std::string path, FileDescriptor descriptor)
      : path_(std::move(path)), descriptor_(std::move(descriptor)) {}

  [[nodiscard]] const std::string& path() const noexcept override { return path_; }

  [[nodiscard]] std::uint64_t size() const override {
    struct ::stat status = {};
    if (::fstat(descriptor_.number(), &status) != 0) throw_errno("examine", path_, errno);
    return static_cast<std::uint64_t>(status.st_size);
  }

  void read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    std::size_t done = 0;
    while (done < into.size()) {
      const ssize_t got = retry_on_signal([&] {
        return ::pread(descriptor_.number(), into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
      });
      if (got < 0) throw_errno("read", path_, errno);
      if (got == 0) {
        const std::uint64_t end = offset + done;
        throw DataLossError("file {} ends at byte {}, before the end of {} bytes at offset {}", path_, end, into.size(),
                            offset);
      }
      done += static_cast<std::size_t>(got);
    }
  }

 private:
  std::string path_;
  FileDescriptor descriptor_;
};

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
  std::set<PosixFileLock*> locks{};

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
    HeldLocks::instance().locks.insert(this);
  }
  ~PosixFileLock() override {
    const std::scoped_lock lock(HeldLocks::instance().mutex);
    HeldLocks::instance().locks.erase(this);
    leave();
  }

  [[nodiscard]] bool is_current() const override {
    struct ::stat held = {};
    struct ::stat named = {};
    if (!descriptor_.is_open() || ::fstat(descriptor_.number(), &held) != 0) return false;
    if (::stat(path_.c_str(), &named) != 0) return errno != ENOENT;  // what cannot be seen is no reason to give up
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

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL std::unique_ptr<ReadableFile> PosixFileSystem::open_readable(const std::string& path) {
  detail::FileDescriptor descriptor = detail::open_descriptor("open", path, O_RDONLY);
  struct ::stat status = {};
  if (::fstat(descriptor.number(), &status) != 0) detail::throw_errno("examine", path, errno);
  if (S_ISDIR(status.st_mode)) detail::throw_errno("read", path, EISDIR);
  return std::make_unique<detail::PosixReadableFile>(path, std::move(descriptor));
}

TRAINHOOK_DECL std::unique_ptr<WritableFile> PosixFileSystem::create_writable(const std::string& path, WriteMode mode) {
  const int flags = O_WRONLY | O_CREAT | (mode == WriteMode::Exclusive ? O_EXCL : O_TRUNC);
  return std::make_unique<detail::PosixWritableFile>(path, detail::open_descriptor("create", path, flags));
}

TRAINHOOK_DECL bool PosixFileSystem::exists(const std::string& path) {
  struct ::stat status = {};
  return find(path, status);
}

TRAINHOOK_DECL bool PosixFileSystem::is_directory(const std::string& path) {
  struct ::stat status = {};
  return find(path, status) && S_ISDIR(status.st_mode);
}

TRAINHOOK_DECL std::uint64_t PosixFileSystem::file_size(const std::string& path) {
  struct ::stat status = {};
  if (::stat(path.c_str(), &status) != 0) detail::throw_errno("examine", path, errno);
  if (S_ISDIR(status.st_mode)) detail::throw_errno("measure", path, EISDIR);
  return static_cast<std::uint64_t>(status.st_size);
}

TRAINHOOK_DECL double PosixFileSystem::modification_time(const std::string& path) {
  struct ::stat status = {};
  if (::stat(path.c_str(), &status) != 0) detail::throw_errno("examine", path, errno);
  return static_cast<double>(status.st_mtim.tv_sec) + 1e-9 * static_cast<double>(status.st_mtim.tv_nsec);
}

TRAINHOOK_DECL std::vector<std::string> PosixFileSystem::list_directory(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), &::closedir);
  if (directory == nullptr) detail::throw_errno("list", path, errno);
  std::vector<std::string> names;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream
  for (errno = 0; const dirent* entry = ::readdir(directory.get()); errno = 0) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) detail::throw_errno("list", path, errno);
  std::ranges::sort(names);
  return names;
}

TRAINHOOK_DECL void PosixFileSystem::make_directories(const std::string& path) {
  if (path.empty() || is_directory(path)) return;
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.back() == '/') trimmed.pop_back();
  const std::string parent = parent_path(trimmed);
  if (parent != trimmed) make_directories(parent);
  if (::mkdir(trimmed.c_str(), 0777) != 0) {
    const int number = errno;
    if (number == EEXIST && is_directory(trimmed)) return;  // another process was faster
    detail::throw_errno("create directory", trimmed, number == EEXIST ? ENOTDIR : number);
  }
  sync_directory(parent);
}

TRAINHOOK_DECL void PosixFileSystem::remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0) detail::throw_errno("remove", path, errno);
}

TRAINHOOK_DECL void PosixFileSystem::remove_directory(const std::string& path) {
  if (::rmdir(path.c_str()) != 0) detail::throw_errno("remove directory", path, errno);
}

TRAINHOOK_DECL void PosixFileSystem::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) detail::throw_errno(fmt::format("rename {} to", from), to, errno);
}

TRAINHOOK_DECL void PosixFileSystem::sync_directory(const std::string& path) {
  const detail::FileDescriptor directory = detail::open_descriptor("open directory", path, O_RDONLY | O_DIRECTORY);
  const int number = detail::sync_descriptor(directory.number());
  if (number != 0 && number != EINVAL && number != ENOTSUP && number != ENOSYS)
    detail::throw_errno("sync directory", path, number);
}

TRAINHOOK_DECL std::unique_ptr<FileLock> PosixFileSystem::lock_file(const std::string& path) {
  const std::scoped_lock no_fork(detail::HeldLocks::instance().mutex);
  detail::FileDescriptor descriptor = detail::open_descriptor("open lock file", path, O_RDWR | O_CREAT);
  if (detail::retry_on_signal([&] { return ::flock(descriptor.number(), LOCK_EX | LOCK_NB); }) != 0) {
    if (errno != EWOULDBLOCK) detail::throw_errno("lock", path, errno);
    throw FailedPreconditionError(
        "another process or session is at work here: it holds the lock {}; end it or use another directory", path);
  }
  return std::make_unique<detail::PosixFileLock>(path, std::move(descriptor));
}

TRAINHOOK_DECL bool PosixFileSystem::find(const std::string& path, struct ::stat& status) {
  if (::stat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  detail::throw_errno("examine", path, errno);
}

TRAINHOOK_DECL FileSystem& posix_file_system() {
  static PosixFileSystem* const system =
      new PosixFileSystem;  // never destroyed: files may be closed while the program ends
  return *system;
}

}  // namespace trainhook
