// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a message says about a name that is not there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/str_cat.hpp>

namespace trainhook::detail {

/// Of the names that are there: those in which the last part of `wanted` stands, or the first few.
[[nodiscard]] inline std::string suggest_names(std::vector<std::string_view> names, std::string_view wanted) {
  constexpr std::size_t kMost = 8;
  if (names.empty()) return "it holds none";
  const std::string_view last = wanted.substr(wanted.rfind('/') + 1);
  const auto resembles = [last](std::string_view name) { return !last.empty() && name.find(last) != std::string_view::npos; };
  const bool any = std::any_of(names.begin(), names.end(), resembles);
  if (any) std::erase_if(names, [&](std::string_view name) { return !resembles(name); });
  std::string text = any ? "names like it are: " : "it holds: ";
  for (std::size_t i = 0; i < (std::min)(names.size(), kMost); ++i) text += str_cat(i == 0 ? "" : ", ", names[i]);
  if (names.size() > kMost) text += str_cat(", ... (", names.size(), " in all)");
  return text;
}

/// The same with the keys of a map.
template <class Map>
[[nodiscard]] std::string suggest_keys(const Map& map, std::string_view wanted) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : map) names.push_back(name);
  return suggest_names(std::move(names), wanted);
}

}  // namespace trainhook::detail
