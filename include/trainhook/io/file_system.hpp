// SPDX-License-Identifier: Apache-2.0
/// @file
/// The one seam to the disk: everything that this library reads or writes goes through a FileSystem.
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

/// A file being written from its start. Not buffered: what `append` took has left the process when it returns, and is
/// on the disk after `sync`. For one thread at a time. The destructor closes and is silent about it: call `sync` or
/// `close` to learn of failures.
class WritableFile {
 public:
  WritableFile() = default;
  WritableFile(const WritableFile&) = delete;
  WritableFile& operator=(const WritableFile&) = delete;
  TRAINHOOK_DECL virtual ~WritableFile();

  [[nodiscard]] virtual const std::string& path() const noexcept = 0;

  /// Bytes that were appended so far.
  [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;

  /// Writes all of `bytes`, or throws after cutting the file back to the length it had, so that no half of a record
  /// stays in it. Where cutting back fails as well, the file takes nothing more.
  virtual void append(std::span<const std::byte> bytes) = 0;
  TRAINHOOK_DECL void append(std::string_view text);

  /// Returns when the bytes are on the disk. After a failure nothing is known about any byte of the file and every
  /// later call throws: a second fsync would succeed falsely. Write the data again, into another file.
  virtual void sync() = 0;

  /// Reports what closing reports (a full quota on network file systems, for example). A second call does nothing.
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

  /// Bytes in the file now: a file that somebody writes to grows.
  [[nodiscard]] virtual std::uint64_t size() const = 0;

  /// Fills all of `into` from `offset` on. @throws DataLossError, naming file and offset, where the file ends before
  /// that.
  virtual void read_at(std::uint64_t offset, std::span<std::byte> into) const = 0;
};

/// Held while it lives; given up by the destructor, or by the death of the process.
class FileLock {
 public:
  FileLock() = default;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  TRAINHOOK_DECL virtual ~FileLock();
};

enum class WriteMode {
  Exclusive,  ///< the file must not exist yet: AlreadyExistsError
  Truncate,   ///< what the file held is lost
};

/// Files and directories. Every function may be called from any thread; every error names the path, the operation and
/// the way out. NotFoundError, PermissionDeniedError, AlreadyExistsError, ResourceExhaustedError (disk, quota, open
/// files) and FailedPreconditionError (a directory where a file should be, or the reverse) mean what they say;
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

  /// Makes the names in the directory durable: files created, renamed or removed in it. Where a file system cannot,
  /// this does nothing.
  virtual void sync_directory(const std::string& path) = 0;

  /// Takes the lock that the file `path` stands for, creating the file where it is missing; the file stays.
  /// @throws FailedPreconditionError where another holder, in this process or another, has it.
  [[nodiscard]] virtual std::unique_ptr<FileLock> lock_file(const std::string& path) = 0;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/file_system.ipp>
#endif
