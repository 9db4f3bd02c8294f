// SPDX-License-Identifier: Apache-2.0
/// @file
/// Names in messages: those like one that was not found, lists of them, and the names of types.
#pragma once

#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// Lists the names that contain the last part of `wanted`, which '/' separates, or else what of that follows a '.'; if
/// there are none, any names. Of many, a few that begin and end most like `wanted`.
[[nodiscard]] TRAINHOOK_DECL std::string suggest_names(std::vector<std::string_view> names, std::string_view wanted);

/// Lists names in quotes, the first few of many: `'a', 'b' and 3 more`.
[[nodiscard]] TRAINHOOK_DECL std::string list_names(const std::vector<std::string>& names);

/// The same as suggest_names, with the keys of a map.
template <class Map>
[[nodiscard]] std::string suggest_keys(const Map& map, std::string_view wanted) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : map) names.push_back(name);
  return suggest_names(std::move(names), wanted);
}

/// `trainhook::StopAtStepHook` as `StopAtStepHook`, `my::Hook<std::string>` as `Hook`: without scopes and template
/// arguments.
[[nodiscard]] TRAINHOOK_DECL std::string short_type_name(const std::string& name);

[[nodiscard]] TRAINHOOK_DECL std::string short_type_name(const std::type_info& type);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/names_in_messages.ipp>
#endif
