// SPDX-License-Identifier: Apache-2.0
/// @file
/// The file system of the operating system and its locks, through POSIX calls.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/posix_file.hpp>

namespace trainhook {

/// The disk of this machine. It has no state that changes.
class PosixFileSystem final : public FileSystem {
 public:
  /// Relative paths start at the current directory of the moment.
  PosixFileSystem() = default;

  /// Relative paths start at `directory`, an absolute path.
  TRAINHOOK_DECL explicit PosixFileSystem(std::string directory);

  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<ReadableFile> open_readable(const std::string& path) override;
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<WritableFile> create_writable(const std::string& path,
                                                                             WriteMode mode) override;
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<WritableFile> open_appendable(const std::string& path) override;
  TRAINHOOK_DECL void truncate(const std::string& path, std::uint64_t size) override;
  [[nodiscard]] TRAINHOOK_DECL PathTarget resolve(const std::string& path) override;
  [[nodiscard]] TRAINHOOK_DECL FileSystem& at_current_directory() override;
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
  [[nodiscard]] TRAINHOOK_DECL detail::PosixPath at(const std::string& path) const;

  std::string directory_;
};

/// The file system that the library uses unless an option names another one.
[[nodiscard]] TRAINHOOK_DECL FileSystem& posix_file_system();

namespace detail {

/// The file system of an option, which is null unless somebody chose one, for a program that changes its current
/// directory. Ask once, where a session or a writer is made.
[[nodiscard]] inline FileSystem& given_or_posix(FileSystem* given) {
  return (given != nullptr ? *given : posix_file_system()).at_current_directory();
}

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/posix_file_system.ipp>
#endif
