// SPDX-License-Identifier: Apache-2.0
/// @file
/// The file system of the operating system, through POSIX calls.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook {
namespace detail {

struct ErrnoMeaning {
  ErrorCode code;
  std::string_view way_out;
};

TRAINHOOK_DECL ErrnoMeaning errno_meaning(int number) noexcept;

}  // namespace detail

/// The disk of this machine. Stateless; `posix_file_system()` is the one that everything uses by default.
class PosixFileSystem final : public FileSystem {
 public:
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<ReadableFile> open_readable(const std::string& path) override;
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<WritableFile> create_writable(const std::string& path,
                                                                             WriteMode mode) override;
  [[nodiscard]] TRAINHOOK_DECL bool exists(const std::string& path) override;
  [[nodiscard]] TRAINHOOK_DECL bool is_directory(const std::string& path) override;
  [[nodiscard]] TRAINHOOK_DECL std::uint64_t file_size(const std::string& path) override;
  [[nodiscard]] TRAINHOOK_DECL double modification_time(const std::string& path) override;
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> list_directory(const std::string& path) override;
  TRAINHOOK_DECL void make_directories(const std::string& path) override;
  TRAINHOOK_DECL void remove_file(const std::string& path) override;
  TRAINHOOK_DECL void remove_directory(const std::string& path) override;
  TRAINHOOK_DECL void rename(const std::string& from, const std::string& to) override;
  TRAINHOOK_DECL void sync_directory(const std::string& path) override;
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<FileLock> lock_file(const std::string& path) override;

 private:
  /// False if there is nothing of that name; other failures are errors, never "does not exist".
  TRAINHOOK_DECL static bool find(const std::string& path, struct ::stat& status);
};

/// The file system that everything uses unless told otherwise.
[[nodiscard]] TRAINHOOK_DECL FileSystem& posix_file_system();

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/posix_file_system.ipp>
#endif
