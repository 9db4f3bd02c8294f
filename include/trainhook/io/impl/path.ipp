// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/io/path.hpp>

#include <algorithm>

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

namespace trainhook::detail {

std::string plain_path(std::string_view path) {
  std::string plain = is_absolute_path(path) ? "/" : "";
  while (!path.empty()) {
    const std::size_t slash = (std::min)(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    if (!part.empty() && part != ".") {
      if (!plain.empty() && plain.back() != '/') plain += '/';
      plain += part;
    }
    path.remove_prefix((std::min)(slash + 1, path.size()));
  }
  return plain;
}

}  // namespace trainhook::detail
