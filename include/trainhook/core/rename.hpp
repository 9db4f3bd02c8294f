// SPDX-License-Identifier: Apache-2.0
/// @file
/// Renames: what replaces the beginnings of names. A name has parts, which '/' and '.' separate.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// Pairs of a beginning of names, which ends with a part of the name or is empty, and what replaces it.
using Renames = std::vector<std::pair<std::string, std::string>>;

/// Where `parts` stand in a name, at `from` or behind it: from the beginning of a part to the end of one. npos:
/// nowhere.
[[nodiscard]] TRAINHOOK_DECL std::size_t find_parts(std::string_view name, std::string_view parts, std::size_t from);

/// The first pair that fits a name; `end()` if none does.
[[nodiscard]] TRAINHOOK_DECL Renames::const_iterator find_rename(const Renames& renames, std::string_view name);

/// The name with what replaces its beginning.
[[nodiscard]] TRAINHOOK_DECL std::string renamed(std::string_view name, const Renames& renames);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/rename.ipp>
#endif
