// SPDX-License-Identifier: Apache-2.0
/// @file
/// Whole files at once: reading one into a string, replacing one so that it is never seen half written.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>

#if defined(__APPLE__)
#include <sys/random.h>
#endif

#include <trainhook/core/error.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/posix_file_system.hpp>

namespace trainhook {
namespace detail {

/// A number that no other writer has: part of temporary names, never of results.
TRAINHOOK_DECL std::uint64_t random_number();

/// Removes a file after a failure, and ignores further errors.
TRAINHOOK_DECL void remove_silently(FileSystem& file_system, const std::string& path) noexcept;

}  // namespace detail

/// The whole content of a file.
[[nodiscard]] TRAINHOOK_DECL std::string read_file(FileSystem& file_system, const std::string& path);

/// Replaces the file durably: whenever the machine stops, the path holds either all of the old content or all of the
/// new one. Its temporary file, `<path>.tmp<16 hex digits>`, is gone after a failure too.
TRAINHOOK_DECL void write_file_atomically(FileSystem& file_system, const std::string& path, std::string_view contents);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/whole_file.ipp>
#endif
