// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/io/posix_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/write_signals.hpp>

namespace trainhook::detail {

FileDescriptor::FileDescriptor(int number) noexcept : number_(number) {
  if (number < 0 || number > STDERR_FILENO) return;
  number_ = ::fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int failed = errno;
  ::close(number);
  errno = failed;
}

FileDescriptor open_descriptor(std::string_view operation, const PosixPath& path, int flags, unsigned permissions) {
  const SystemCall what = (flags & O_CREAT) != 0 ? SystemCall::Write : SystemCall::Read;  // made once, not again
  FileDescriptor descriptor(
      repeat_call(what, [&] { return ::open(path.location.c_str(), flags | O_CLOEXEC, permissions); }));
  if (!descriptor.is_open()) throw_errno(operation, path.name, errno);
  return descriptor;
}

/// The error number, or 0.
[[nodiscard]] inline int sync_descriptor(int descriptor) noexcept {
#ifdef F_FULLFSYNC  // on Apple's systems fsync stops at the drive's cache
  if (repeat_call(SystemCall::Write, [&] { return ::fcntl(descriptor, F_FULLFSYNC); }) == 0) return 0;
#endif
  return repeat_call(SystemCall::Write, [&] { return ::fsync(descriptor); }) == 0 ? 0 : errno;
}

void sync_posix_directory(const PosixPath& path) {
  int number = 0;
  const int result = repeat_call(SystemCall::SyncDirectory, [&] {  // opened again each time: a handle may be stale
    {
      const FileDescriptor directory(::open(path.location.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      number = !directory.is_open() ? errno : sync_descriptor(directory.number());
    }
    errno = number;
    return number == 0 ? 0 : -1;
  });
  if (result == 0) return;
  if (on_failure(SystemCall::SyncDirectory, number) != OnFailure::SayOnce)
    throw_errno("sync directory", path.name, number);
  warn_once("sync of " + path.location,
            fmt::format("cannot sync directory {}: {}; after a power cut its newest files may be missing", path.name,
                        std::generic_category().message(number)));
}

inline struct ::stat status_of(const FileDescriptor& descriptor, const std::string& path) {
  struct ::stat status = {};
  if (repeat_call(SystemCall::Read, [&] { return ::fstat(descriptor.number(), &status); }) != 0)
    throw_errno("examine", path, errno);
  return status;
}

class PosixWritableFile final : public WritableFile {
 public:
  PosixWritableFile(std::string path, FileDescriptor descriptor, std::uint64_t size = 0)
      : path_(std::move(path)), descriptor_(std::move(descriptor)), size_(size) {}

  [[nodiscard]] const std::string& path() const noexcept override { return path_; }
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }

  void append(std::span<const std::byte> bytes) override {
    expect_usable();
    const NoWriteSignals no_signals;
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t written = repeat_call(SystemCall::Write, [&] {
        return ::pwrite(descriptor_.number(), bytes.data() + done, bytes.size() - done,
                        static_cast<off_t>(size_ + done));
      });
      if (written <= 0) {
        const int number = written < 0 ? errno : ENOSPC;
        broken_ = repeat_call(SystemCall::Write,
                              [&] { return ::ftruncate(descriptor_.number(), static_cast<off_t>(size_)); }) != 0;
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
    const NoWriteSignals no_signals;
    const int result = repeat_call(SystemCall::Reserve, [&] {
      return ::fallocate(descriptor_.number(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes));
    });
    if (result != 0 && on_failure(SystemCall::Reserve, errno) == OnFailure::Throw)
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
  [[maybe_unused]] std::uint64_t handed_over_ = size_;
  bool broken_ = false;
};

class PosixReadableFile final : public ReadableFile {
 public:
  PosixReadableFile(std::string path, FileDescriptor descriptor)
      : path_(std::move(path)), descriptor_(std::move(descriptor)) {}

  [[nodiscard]] const std::string& path() const noexcept override { return path_; }

  [[nodiscard]] std::uint64_t size() const override {
    return static_cast<std::uint64_t>(status_of(descriptor_, path_).st_size);
  }

  void read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    std::size_t done = 0;
    while (done < into.size()) {
      const ssize_t got = repeat_call(SystemCall::Read, [&] {
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

std::unique_ptr<ReadableFile> open_posix_file(const PosixPath& path) {
  FileDescriptor descriptor = open_descriptor("open", path, O_RDONLY | O_NONBLOCK);  // a pipe may have no writer
  const struct ::stat status = status_of(descriptor, path.name);
  if (S_ISDIR(status.st_mode)) throw_errno("read", path.name, EISDIR);
  if (S_ISFIFO(status.st_mode))
    throw FailedPreconditionError("cannot read {}: it is a pipe, in which no offset can be read (give a file)",
                                  path.name);
  return std::make_unique<PosixReadableFile>(path.name, std::move(descriptor));
}

std::unique_ptr<WritableFile> create_posix_file(const PosixPath& path, WriteMode mode) {
  const int flags = O_WRONLY | O_CREAT | O_NONBLOCK | (mode == WriteMode::Truncate ? O_TRUNC : O_EXCL);
  const unsigned permissions = mode == WriteMode::Private ? 0600 : 0666;
  FileDescriptor descriptor = open_descriptor("create", path, flags, permissions);
  if (mode == WriteMode::Public) static_cast<void>(::fchmod(descriptor.number(), 0644));  // some disks know none
  return std::make_unique<PosixWritableFile>(path.name, std::move(descriptor));
}

std::unique_ptr<WritableFile> append_to_posix_file(const PosixPath& path) {
  FileDescriptor descriptor = open_descriptor("append to", path, O_WRONLY | O_CREAT | O_APPEND);
  const struct ::stat status = status_of(descriptor, path.name);
  return std::make_unique<PosixWritableFile>(path.name, std::move(descriptor),
                                             static_cast<std::uint64_t>(status.st_size));
}

}  // namespace trainhook::detail
