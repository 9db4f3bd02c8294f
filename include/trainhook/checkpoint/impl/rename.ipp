// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/rename.hpp>

#include <algorithm>
#include <optional>

#include <trainhook/core/error.hpp>

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

// An optimizer's names need not have the scope, such as the name that a module was given.
inline std::pair<std::string_view, std::string_view> without_common_scope(const Renames::value_type& rename) {
  std::string_view before = rename.first;
  std::string_view after = rename.second;
  const auto common = static_cast<std::size_t>(std::ranges::mismatch(before, after).in1 - before.begin());
  const std::size_t scope = before.substr(0, common).rfind('/') + 1;
  return {before.substr(scope), after.substr(scope)};
}

std::string Renaming::name_here(const std::string& name) {
  const auto rename = find_rename(renames_, name);
  if (rename != renames_.end() && !(rename->first.empty() && name.starts_with("_trainhook/"))) {
    std::string other = renamed(name, renames_);
    if (other.starts_with('/') || other.starts_with('.')) other.clear();
    if (was_followed_ && !other.empty() && in_model_(name) && !in_model_(other)) return name;
    ++used_[static_cast<std::size_t>(rename - renames_.begin())];
    return other;
  }
  if (in_model_(name)) return name;
  std::optional<std::string> found;
  for (std::size_t i = 0; i < used_.size(); ++i) {
    const auto [before, after] = without_common_scope(renames_[i]);
    if (before.empty()) continue;
    for (std::size_t at = find_parts(name, before, 0); at != std::string::npos; at = find_parts(name, before, at + 1)) {
      std::string other = std::string(name).replace(at, before.size(), after);
      if (!in_model_(other) || other == found) continue;
      if (found) {
        throw InvalidArgumentError("restore: `rename` makes both '{}' and '{}' of '{}'; give it the whole name", *found,
                                   other, name);
      }
      found = std::move(other);
      ++used_[i];
    }
  }
  return found.value_or(name);
}

void Renaming::take_back(const std::string& name) {
  --used_[static_cast<std::size_t>(find_rename(renames_, name) - renames_.begin())];
}

}  // namespace trainhook::detail
