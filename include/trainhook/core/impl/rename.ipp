// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of rename.hpp.
#pragma once

#include <trainhook/core/rename.hpp>

#include <algorithm>

namespace trainhook::detail {

std::size_t find_parts(std::string_view name, std::string_view parts, std::size_t from) {
  const auto separates = [](char each) { return each == '/' || each == '.'; };
  for (std::size_t at = name.find(parts, from); at != std::string_view::npos; at = name.find(parts, at + 1)) {
    const std::size_t end = at + parts.size();
    if ((at == 0 || separates(name[at - 1])) &&
        (end == 0 || end == name.size() || separates(name[end - 1]) || separates(name[end])))
      return at;
  }
  return std::string_view::npos;
}

Renames::const_iterator find_rename(const Renames& renames, std::string_view name) {
  return std::ranges::find_if(
      renames, [&](const auto& each) { return name.starts_with(each.first) && find_parts(name, each.first, 0) == 0; });
}

std::string renamed(std::string_view name, const Renames& renames) {
  const auto rename = find_rename(renames, name);
  if (rename == renames.end()) return std::string(name);
  return rename->second + std::string(name.substr(rename->first.size()));
}

}  // namespace trainhook::detail
