// SPDX-License-Identifier: Apache-2.0
/// @file
/// File descriptors, and the errors that belong to errno values. For PosixFileSystem.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook::detail {

/// A path as the caller gave it, for messages, and as the system is asked for it.
struct PosixPath {
  std::string name{};
  std::string location{};
};

struct ErrnoMeaning {
  ErrorCode code;
  std::string_view way_out;
};

TRAINHOOK_DECL ErrnoMeaning errno_meaning(int number) noexcept;

/// @throws the error that belongs to the errno value; its message names the operation, the path and what to do.
[[noreturn]] TRAINHOOK_DECL void throw_errno(std::string_view operation, std::string_view path, int number);

/// Repeats a call that a signal interrupted.
template <class Call>
auto retry_on_signal(Call call) noexcept {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

/// Owns a file descriptor. An interrupted close is not repeated: on Linux the descriptor is closed.
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

/// @throws `throw_errno`.
TRAINHOOK_DECL FileDescriptor open_descriptor(std::string_view operation, const PosixPath& path, int flags);

/// The error number, or 0.
[[nodiscard]] TRAINHOOK_DECL int sync_descriptor(int descriptor) noexcept;

[[nodiscard]] TRAINHOOK_DECL std::unique_ptr<ReadableFile> open_posix_file(const PosixPath& path);
[[nodiscard]] TRAINHOOK_DECL std::unique_ptr<WritableFile> create_posix_file(const PosixPath& path, WriteMode mode);

/// Opens a regular file at its end; creates it if it is missing.
[[nodiscard]] TRAINHOOK_DECL std::unique_ptr<WritableFile> append_to_posix_file(const PosixPath& path);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/posix_file.ipp>
#endif
