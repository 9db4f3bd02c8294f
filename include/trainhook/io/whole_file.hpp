// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads a whole file into a string, and replaces a whole file atomically.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>

namespace trainhook {

class FileSystem;

namespace detail {

/// A random number that makes temporary names unique. It never influences results.
TRAINHOOK_DECL std::uint64_t random_number();

/// Removes a file after a failure and ignores errors.
TRAINHOOK_DECL void remove_silently(FileSystem& file_system, const std::string& path) noexcept;

}  // namespace detail

/// The contents of a file.
[[nodiscard]] TRAINHOOK_DECL std::string read_file(FileSystem& file_system, const std::string& path);

/// Replaces the file durably: even if the machine stops at any moment, `path` has either the old contents or the new
/// ones. The temporary file, `<path>.tmp<16 hex digits>`, is removed after an error too.
TRAINHOOK_DECL void write_file_atomically(FileSystem& file_system, const std::string& path, std::string_view contents);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/whole_file.ipp>
#endif
