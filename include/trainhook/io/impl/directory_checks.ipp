// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/io/directory_checks.hpp>

#include <trainhook/core/error.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/whole_file.hpp>

namespace trainhook::detail {

void expect_file_name(std::string_view what, std::string_view option, std::string_view name) {
  if (!name.empty() && name.find('/') == std::string_view::npos) return;
  throw InvalidArgumentError("{}: {} is '{}'; it must be a file name without directory", what, option, name);
}

void expect_name_fits(FileSystem& file_system, const std::string& path, std::string_view what) {
  const std::string_view name = base_name(path);
  std::string directory = parent_path(path);
  try {
    while (!file_system.exists(directory) && directory != parent_path(directory)) directory = parent_path(directory);
  } catch (const InvalidArgumentError& error) {
    throw InvalidArgumentError("{} names a directory that cannot be: {}", what, error.what());
  } catch (const Error&) { return; }  // whoever writes the file reports it
  try {
    static_cast<void>(file_system.exists(join_path(directory, name)));
  } catch (const InvalidArgumentError& error) {
    throw InvalidArgumentError("{} is too long: file names of {} characters would be needed; give a shorter one ({})",
                               what, name.size(), error.what());
  } catch (const Error&) {  // whoever writes the file reports it
  }
}

/// Whether a failed rename says that the file system never replaces a file, not that this one could not be replaced.
inline bool is_refusal(ErrorCode code) noexcept {
  using enum ErrorCode;
  return code == PermissionDenied || code == AlreadyExists || code == Unimplemented || code == InvalidArgument ||
         code == FailedPrecondition;
}

void expect_replaces_files(FileSystem& file_system, const std::string& directory) {
  const std::string file = join_path(directory, ".replaced" + temporary_suffix());
  const std::string other = join_path(directory, ".replacing" + temporary_suffix());
  const auto clean_up = [&] {
    remove_silently(file_system, file);
    remove_silently(file_system, other);
  };
  try {
    for (const std::string& path : {file, other}) file_system.create_writable(path, WriteMode::Exclusive)->close();
  } catch (const Error&) { return clean_up(); }
  try {
    file_system.rename(other, file);
  } catch (const Error& error) {
    clean_up();
    if (!is_refusal(error.code())) return;
    throw FailedPreconditionError(
        "no file in '{}' can be renamed over another one, as each save does: {}. Give a directory on another "
        "file system, and copy the files from there",
        directory, error.what());
  }
  remove_silently(file_system, file);
}

}  // namespace trainhook::detail
