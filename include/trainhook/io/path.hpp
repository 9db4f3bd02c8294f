// SPDX-License-Identifier: Apache-2.0
/// @file
/// Paths as plain strings with `/` between their parts: joining and taking apart, without looking at any disk.
#pragma once

#include <string>
#include <string_view>

namespace trainhook {

[[nodiscard]] constexpr bool is_absolute_path(std::string_view path) noexcept { return !path.empty() && path.front() == '/'; }

/// `name` inside `directory`. An absolute `name` stays as it is; an empty directory is the current one.
[[nodiscard]] inline std::string join_path(std::string_view directory, std::string_view name) {
  if (directory.empty() || is_absolute_path(name)) return std::string(name);
  if (name.empty()) return std::string(directory);
  std::string path(directory);
  if (path.back() != '/') path += '/';
  return path.append(name);
}

/// What stands after the last `/`: `ckpt-1` of `run/ckpt-1`; empty for a path that ends in `/`.
[[nodiscard]] constexpr std::string_view base_name(std::string_view path) noexcept {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// The directory that holds the file: `run` of `run/ckpt-1`, `/` of `/ckpt`, `.` of a bare name.
[[nodiscard]] inline std::string parent_path(std::string_view path) {
  std::size_t end = path.rfind('/');
  if (end == std::string_view::npos) return ".";
  while (end > 0 && path[end - 1] == '/') --end;
  return end == 0 ? "/" : std::string(path.substr(0, end));
}

}  // namespace trainhook
