// SPDX-License-Identifier: Apache-2.0
/// @file
/// File descriptors, files, links, and the pipes and devices that are only appended to. For PosixFileSystem.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <trainhook/core/linkage.hpp>
#include <trainhook/io/failure.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook::detail {

/// A path as the caller gave it, for messages, and as the system is asked for it.
struct PosixPath {
  std::string name{};
  std::string location{};
};

/// Owns a file descriptor, whose number is above those of the standard streams: a program that is started with these
/// closed does not write its log into a file of ours. An interrupted close is not repeated: on Linux the descriptor is
/// closed.
class FileDescriptor {
 public:
  /// @param number of an open descriptor; negative, with `errno`, if it could not be opened
  TRAINHOOK_DECL explicit FileDescriptor(int number) noexcept;
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor() { static_cast<void>(close()); }

  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] bool is_open() const noexcept { return number_ >= 0; }

  /// The error number, or 0.
  [[nodiscard]] int close() noexcept {
    if (number_ < 0) return 0;
    const int failed = ::close(std::exchange(number_, -1));
    return failed != 0 && on_failure(SystemCall::Close, errno) == OnFailure::Throw ? errno : 0;
  }

 private:
  int number_;
};

/// @param permissions of a file that is created, before the process's umask
/// @throws `throw_errno`.
TRAINHOOK_DECL FileDescriptor open_descriptor(std::string_view operation, const PosixPath& path, int flags,
                                              unsigned permissions = 0666);

/// Says once that a directory cannot be synced, if its file system or its permissions do not allow it. @throws
/// `throw_errno`.
TRAINHOOK_DECL void sync_posix_directory(const PosixPath& path);

[[nodiscard]] TRAINHOOK_DECL std::unique_ptr<ReadableFile> open_posix_file(const PosixPath& path);
[[nodiscard]] TRAINHOOK_DECL std::unique_ptr<WritableFile> create_posix_file(const PosixPath& path, WriteMode mode);

/// Opens a regular file at its end; creates it if it is missing.
[[nodiscard]] TRAINHOOK_DECL std::unique_ptr<WritableFile> append_to_posix_file(const PosixPath& path);

/// Implements `FileSystem::open_appendable`. A pipe whose reader is gone is an error and no SIGPIPE.
[[nodiscard]] TRAINHOOK_DECL std::unique_ptr<WritableFile> open_posix_appendable(const PosixPath& path);

/// Implements `FileSystem::resolve`.
[[nodiscard]] TRAINHOOK_DECL PathTarget resolve_posix_path(PosixPath path);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/posix_file.ipp>
#include <trainhook/io/impl/posix_stream.ipp>
#endif
