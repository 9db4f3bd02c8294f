// SPDX-License-Identifier: Apache-2.0
/// @file
/// FileSystem: the interface to the disk. Everything that this library reads or writes goes through it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>

namespace trainhook {

/// A file being written from its start. Not buffered: when `append` returns, the operating system has the bytes; after
/// `sync` they are on the disk. For one thread at a time. The destructor closes the file and ignores errors: call
/// `sync` or `close` to see them.
class WritableFile {
 public:
  WritableFile() = default;
  WritableFile(const WritableFile&) = delete;
  WritableFile& operator=(const WritableFile&) = delete;
  TRAINHOOK_DECL virtual ~WritableFile();

  [[nodiscard]] virtual const std::string& path() const noexcept = 0;

  /// Bytes appended so far.
  [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;

  /// Writes all of `bytes`, or throws after cutting the file back to the length it had, so that no half of a record
  /// stays in it. If that fails as well, the file accepts nothing more.
  virtual void append(std::span<const std::byte> bytes) = 0;
  TRAINHOOK_DECL void append(std::string_view text);

  /// Says that so many bytes will be appended in all, so that the disk can set the space aside; the file does not grow.
  /// Does nothing by default, and if the file system cannot do that. @throws ResourceExhaustedError if there is no room
  /// for them.
  TRAINHOOK_DECL virtual void reserve(std::uint64_t bytes);

  /// Returns when the bytes are on the disk. After a failure no byte of the file is safe, and every later call
  /// throws, because a second fsync would succeed falsely. Write the data again, to another file.
  virtual void sync() = 0;

  /// Throws the errors of closing, for example a full quota on a network file system. A second call does nothing.
  virtual void close() = 0;
};

/// A file to read from. Any number of threads may read at once.
class ReadableFile {
 public:
  ReadableFile() = default;
  ReadableFile(const ReadableFile&) = delete;
  ReadableFile& operator=(const ReadableFile&) = delete;
  TRAINHOOK_DECL virtual ~ReadableFile();

  [[nodiscard]] virtual const std::string& path() const noexcept = 0;

  /// Bytes in the file now; it may grow while it is written.
  [[nodiscard]] virtual std::uint64_t size() const = 0;

  /// Fills all of `into` from `offset` on. @throws DataLossError, naming file and offset, if the file ends before
  /// that.
  virtual void read_at(std::uint64_t offset, std::span<std::byte> into) const = 0;
};

/// A lock. It is released by the destructor, or when the process ends; a child of the process does not hold it.
class FileLock {
 public:
  FileLock() = default;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  TRAINHOOK_DECL virtual ~FileLock();

  /// False if the lock protects nothing any more: somebody removed the file, so that others can lock a new one of that
  /// name, or this is a forked child of the process that has the lock.
  [[nodiscard]] TRAINHOOK_DECL virtual bool is_current() const;
};

enum class WriteMode {
  Exclusive,  ///< the file must not exist yet: AlreadyExistsError
  Truncate,   ///< what the file held is lost
};

/// Files and directories. Every function may be called from any thread; every error names the path, the operation and
/// the way out. NotFoundError, PermissionDeniedError, AlreadyExistsError, ResourceExhaustedError (disk, quota, open
/// files) and FailedPreconditionError (a directory instead of a file, or the reverse) mean what they say;
/// DataLossError is the device's.
class FileSystem {
 public:
  FileSystem() = default;
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;
  TRAINHOOK_DECL virtual ~FileSystem();

  [[nodiscard]] virtual std::unique_ptr<ReadableFile> open_readable(const std::string& path) = 0;

  /// The directory must exist.
  [[nodiscard]] virtual std::unique_ptr<WritableFile> create_writable(const std::string& path, WriteMode mode) = 0;

  /// Whether there is a file or a directory of that name.
  [[nodiscard]] virtual bool exists(const std::string& path) = 0;
  [[nodiscard]] virtual bool is_directory(const std::string& path) = 0;
  [[nodiscard]] virtual std::uint64_t file_size(const std::string& path) = 0;

  /// When its contents were written last, in seconds since 1970.
  [[nodiscard]] virtual double modification_time(const std::string& path) = 0;

  /// Names (not paths) of everything in it, sorted bytewise, without `.` and `..`.
  [[nodiscard]] virtual std::vector<std::string> list_directory(const std::string& path) = 0;

  /// Creates the directory and those above it that are missing, durably. One that exists is fine.
  virtual void make_directories(const std::string& path) = 0;

  virtual void remove_file(const std::string& path) = 0;

  /// The directory must be empty.
  virtual void remove_directory(const std::string& path) = 0;

  /// Atomically replaces `to`, within one file system.
  virtual void rename(const std::string& from, const std::string& to) = 0;

  /// Makes the names in the directory durable: files created, renamed or removed in it. Does nothing if
  /// the file system cannot do that.
  virtual void sync_directory(const std::string& path) = 0;

  /// Locks the file `path`, and creates it if it is missing; the file stays.
  /// @throws FailedPreconditionError if the lock is held, in this process or another; UnimplementedError if the file
  /// system has no locks.
  [[nodiscard]] virtual std::unique_ptr<FileLock> lock_file(const std::string& path) = 0;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/file_system.ipp>
#endif
