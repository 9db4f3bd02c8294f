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

/// A file that is written from its start or at its end. Unbuffered: when `append` returns, the operating system has the
/// bytes; when `sync` returns, they are on the disk. Not thread-safe. The destructor closes the file and ignores
/// errors: call `sync` or `close` to see them.
class WritableFile {
 public:
  WritableFile() = default;
  WritableFile(const WritableFile&) = delete;
  WritableFile& operator=(const WritableFile&) = delete;
  TRAINHOOK_DECL virtual ~WritableFile();

  [[nodiscard]] virtual const std::string& path() const noexcept = 0;

  /// The size of the file; for a stream, the bytes appended so far.
  [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;

  /// Writes all of `bytes`. On an error, truncates the file to its previous length, so that no partial record stays,
  /// and throws. If truncating fails too, every later `append` throws.
  virtual void append(std::span<const std::byte> bytes) = 0;
  TRAINHOOK_DECL void append(std::string_view text);

  /// Reserves disk space for a file of `bytes` bytes in all; its size does not change. The default does nothing, as
  /// does a file system that cannot reserve space. @throws ResourceExhaustedError if there is not enough space.
  virtual void reserve(std::uint64_t /*bytes*/) {}

  /// Returns when the bytes are on the disk. After a failure none of the file's bytes are safe and every later call
  /// throws, because a second fsync would falsely succeed: write the data again, to another file.
  virtual void sync() = 0;

  /// Closes the file and throws if that fails, for example because of a quota on a network file system. A second call
  /// does nothing.
  virtual void close() = 0;
};

/// A file opened for reading. Any number of threads may read at once.
class ReadableFile {
 public:
  ReadableFile() = default;
  ReadableFile(const ReadableFile&) = delete;
  ReadableFile& operator=(const ReadableFile&) = delete;
  TRAINHOOK_DECL virtual ~ReadableFile();

  [[nodiscard]] virtual const std::string& path() const noexcept = 0;

  /// The current number of bytes; a file that is being written may grow.
  [[nodiscard]] virtual std::uint64_t size() const = 0;

  /// Reads `into.size()` bytes, starting at `offset`. @throws DataLossError, naming file and offset, if the file ends
  /// before that.
  virtual void read_at(std::uint64_t offset, std::span<std::byte> into) const = 0;
};

/// A lock on a file. The destructor or the end of the process releases it; a forked child does not hold it.
class FileLock {
 public:
  FileLock() = default;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  TRAINHOOK_DECL virtual ~FileLock();

  /// False if the lock no longer protects anything: the file was removed, so others can lock a new one of the same
  /// name, or this process is a forked child of the one that holds the lock.
  [[nodiscard]] virtual bool is_current() const { return true; }
};

enum class WriteMode {
  Exclusive,  ///< the file must not exist yet: AlreadyExistsError
  Truncate,   ///< an existing file loses its contents
  Private,    ///< as Exclusive, for what only the user may read; without permissions, a file system does no more
  Public,     ///< as Exclusive, for what everybody may read, whatever the program's mask says
};

/// What a path names.
enum class PathKind {
  Nothing,
  File,
  Directory,
  Stream,  ///< a pipe, a terminal or another character device, or an open file of this process, such as `/dev/stdout`:
           ///< bytes can be appended to it, and that is all
  Other,   ///< a disk or a socket
};

/// What a path names if links are followed.
struct PathTarget {
  PathKind kind = PathKind::Nothing;
  std::string path{};  ///< without a link at its end; of `Nothing`: where a file would be created
};

/// Files and directories. Every function may be called from any thread; every error names the path, the operation and
/// what to do. Functions throw NotFoundError, PermissionDeniedError, AlreadyExistsError, ResourceExhaustedError (disk,
/// quota or open files), FailedPreconditionError (a directory instead of a file, or the reverse) and DataLossError (an
/// error of the device).
class FileSystem {
 public:
  FileSystem() = default;
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;
  TRAINHOOK_DECL virtual ~FileSystem();

  [[nodiscard]] virtual std::unique_ptr<ReadableFile> open_readable(const std::string& path) = 0;

  /// The directory must exist.
  [[nodiscard]] virtual std::unique_ptr<WritableFile> create_writable(const std::string& path, WriteMode mode) = 0;

  /// Opens a file, or creates it, to append to it. A stream is appended to without waiting for a reader. The default
  /// throws UnimplementedError: override it in your own file system if hooks write rows to it.
  [[nodiscard]] TRAINHOOK_DECL virtual std::unique_ptr<WritableFile> open_appendable(const std::string& path);

  /// Cuts a file to its first `size` bytes. The default throws UnimplementedError.
  TRAINHOOK_DECL virtual void truncate(const std::string& path, std::uint64_t size);

  /// What `path` names, after all links. The default knows files and directories.
  [[nodiscard]] TRAINHOOK_DECL virtual PathTarget resolve(const std::string& path);

  /// This file system for a program that changes its current directory: relative paths start where they start now.
  /// Messages name the paths as they are given. The result lives as long as this file system. The default returns this
  /// one, which is right if the current directory does not matter.
  [[nodiscard]] virtual FileSystem& at_current_directory() { return *this; }

  /// Whether a file or directory of that name exists.
  [[nodiscard]] virtual bool exists(const std::string& path) = 0;
  [[nodiscard]] virtual bool is_directory(const std::string& path) = 0;
  [[nodiscard]] virtual std::uint64_t file_size(const std::string& path) = 0;

  /// The time of the last write, in seconds since the Unix epoch.
  [[nodiscard]] virtual double modification_time(const std::string& path) = 0;

  /// The names (not paths) of all files and directories in it, sorted bytewise, without `.` and `..`.
  [[nodiscard]] virtual std::vector<std::string> list_directory(const std::string& path) = 0;

  /// Creates the directory and its missing parents, durably. Does nothing if it exists.
  virtual void make_directories(const std::string& path) = 0;

  virtual void remove_file(const std::string& path) = 0;

  /// The directory must be empty.
  virtual void remove_directory(const std::string& path) = 0;

  /// Renames a file and atomically replaces `to` if it exists. Both paths must be on one file system.
  virtual void rename(const std::string& from, const std::string& to) = 0;

  /// Makes the creation, renaming and removal of files in the directory durable. If the file system cannot do that, or
  /// the directory may not be read, only logs a warning, once.
  virtual void sync_directory(const std::string& path) = 0;

  /// Locks the file `path`, which it creates if it is missing. The file stays after the lock is released. The holder
  /// may write to the file; that must not release the lock.
  /// @throws FailedPreconditionError if the lock is held, in this process or another; UnimplementedError if the file
  /// system has no locks.
  [[nodiscard]] virtual std::unique_ptr<FileLock> lock_file(const std::string& path) = 0;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/file_system.ipp>
#endif
