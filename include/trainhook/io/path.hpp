// SPDX-License-Identifier: Apache-2.0
/// @file
/// Joins and splits paths, which are plain strings with `/`, without looking at the disk.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>

namespace trainhook {

namespace detail {

[[nodiscard]] constexpr bool is_absolute_path(std::string_view path) noexcept { return path.starts_with('/'); }

/// Removes `.`, repeated and trailing slashes from a path.
[[nodiscard]] TRAINHOOK_DECL std::string plain_path(std::string_view path);

}  // namespace detail

/// `name` inside `directory`. An absolute `name` stays as it is; an empty `directory` means the current one.
[[nodiscard]] TRAINHOOK_DECL std::string join_path(std::string_view directory, std::string_view name);

/// The part after the last `/`: `ckpt-1` of `run/ckpt-1`; empty for a path that ends in `/`.
[[nodiscard]] constexpr std::string_view base_name(std::string_view path) noexcept {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// The directory that holds the file: `run` of `run/ckpt-1`, `/` of `/ckpt`, `.` of a bare name.
[[nodiscard]] TRAINHOOK_DECL std::string parent_path(std::string_view path);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/path.ipp>
#endif
