// SPDX-License-Identifier: Apache-2.0
/// @file
/// Checks UTF-8, which names in files must be.
#pragma once

#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// Whether `text` is UTF-8 in its shortest form, without surrogates.
[[nodiscard]] TRAINHOOK_DECL bool is_utf8(std::string_view text) noexcept;

/// A name that was in a file. @throws DataLossError, naming `what`, if it is not UTF-8.
[[nodiscard]] TRAINHOOK_DECL std::string checked_name(std::string_view name, std::string_view what);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph_def/impl/utf8.ipp>
#endif
