// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of graph_def_messages.hpp.
#pragma once

#include <trainhook/graph_def/graph_def_messages.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL std::string_view checkpoint_version_name(std::uint64_t version) {
  return version == 2 ? "V2" : version == 1 ? "V1" : "LEGACY";
}

TRAINHOOK_DECL std::optional<std::uint64_t> checkpoint_version_of_name(std::string_view name) {
  return name == "V2" ? 2 : name == "V1" ? 1 : 0;
}

}  // namespace trainhook::detail
