// SPDX-License-Identifier: Apache-2.0
/// @file
/// File locks of the operating system, which a forked child does not hold. For PosixFileSystem.
#pragma once

#include <memory>

#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/posix_file.hpp>

namespace trainhook::detail {

/// Implements `FileSystem::lock_file` with `flock`.
[[nodiscard]] TRAINHOOK_DECL std::unique_ptr<FileLock> lock_posix_file(const PosixPath& path);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/posix_lock.ipp>
#endif
