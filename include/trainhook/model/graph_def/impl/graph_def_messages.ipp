// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/graph_def/graph_def_messages.hpp>

#include <iterator>

namespace trainhook::detail {

std::string_view checkpoint_version_name(std::uint64_t version) {
  constexpr std::string_view kNames[] = {"LEGACY", "V1", "V2"};
  return version < std::size(kNames) ? kNames[version] : "";
}

std::optional<std::uint64_t> checkpoint_version_of_name(std::string_view name) {
  for (std::uint64_t version = 0; !checkpoint_version_name(version).empty(); ++version) {
    if (checkpoint_version_name(version) == name) return version;
  }
  return std::nullopt;
}

}  // namespace trainhook::detail
