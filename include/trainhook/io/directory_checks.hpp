// SPDX-License-Identifier: Apache-2.0
/// @file
/// What names of files and the directory of a run must be, found out when its session is made and not when it first
/// saves.
#pragma once

#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook::detail {

/// @throws InvalidArgumentError, naming the option of `what`, if `name` is empty or has a directory.
TRAINHOOK_DECL void expect_file_name(std::string_view what, std::string_view option, std::string_view name);

/// Asks the file system whether it takes a name; creates nothing. Other failures come when the file is written.
/// @param path with the longest name that files in its directory will have
/// @throws InvalidArgumentError, beginning with `what` (who gave which name), if a name in the path is too long.
TRAINHOOK_DECL void expect_name_fits(FileSystem& file_system, const std::string& path, std::string_view what);

/// Tries whether a file can be renamed over another one, with two empty files that it removes. Other failures, such as
/// a full disk, come when the files are written.
/// @throws FailedPreconditionError, naming the directory and the file system's answer, if that is refused.
TRAINHOOK_DECL void expect_replaces_files(FileSystem& file_system, const std::string& directory);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/directory_checks.ipp>
#endif
