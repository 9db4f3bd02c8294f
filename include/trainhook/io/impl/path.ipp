// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of path.hpp.
#pragma once

#include <trainhook/io/path.hpp>

namespace trainhook {

std::string join_path(std::string_view directory, std::string_view name) {
  if (directory.empty() || detail::is_absolute_path(name)) return std::string(name);
  if (name.empty()) return std::string(directory);
  std::string path(directory);
  if (path.back() != '/') path += '/';
  return path.append(name);
}

std::string parent_path(std::string_view path) {
  std::size_t end = path.rfind('/');
  if (end == std::string_view::npos) return ".";
  while (end > 0 && path[end - 1] == '/') --end;
  return end == 0 ? "/" : std::string(path.substr(0, end));
}

}  // namespace trainhook
