// SPDX-License-Identifier: Apache-2.0
/// @file
/// Links, and files to append to, among them pipes and devices. For PosixFileSystem.
#pragma once

#include <memory>

#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/posix_file.hpp>

namespace trainhook::detail {

/// Implements `FileSystem::resolve`.
[[nodiscard]] TRAINHOOK_DECL PathTarget resolve_posix_path(PosixPath path);

/// Implements `FileSystem::open_appendable`. A pipe whose reader is gone is an error and no SIGPIPE.
[[nodiscard]] TRAINHOOK_DECL std::unique_ptr<WritableFile> open_posix_appendable(const PosixPath& path);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/posix_stream.ipp>
#endif
