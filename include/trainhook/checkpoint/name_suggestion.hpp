// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a message says about a name that is not there.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/str_cat.hpp>

namespace trainhook::detail {

/// Of the keys of `map`: those that resemble `name`, or the first few.
template <class Map>
[[nodiscard]] std::string suggest_names(const Map& map, std::string_view name) {
  constexpr std::size_t kMost = 8;
  const std::string_view last = name.substr(name.rfind('/') + 1);
  std::vector<std::string_view> names;
  for (const auto& [other, value] : map) {
    if (names.size() < kMost && !last.empty() && std::string_view(other).find(last) != std::string_view::npos) names.push_back(other);
  }
  const bool resembles = !names.empty();
  if (!resembles) {
    for (const auto& [other, value] : map) {
      if (names.size() < kMost) names.push_back(other);
    }
  }
  if (names.empty()) return "it holds no tensors";
  std::string text = resembles ? "names like it are: " : "it holds: ";
  for (std::size_t i = 0; i < names.size(); ++i) text += str_cat(i == 0 ? "" : ", ", names[i]);
  if (!resembles && map.size() > names.size()) text += str_cat(", ... (", map.size(), " in all)");
  return text;
}

}  // namespace trainhook::detail
