// SPDX-License-Identifier: Apache-2.0
/// @file
/// UTF-8, which every string in a file must be: one other byte ends TensorBoard's reading of a run, and breaks JSON.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// Whether `text` is UTF-8 in its shortest form, without surrogates.
[[nodiscard]] TRAINHOOK_DECL bool is_utf8(std::string_view text) noexcept;

/// A text that goes into a file: the same, or with U+FFFD in place of each byte that is not UTF-8, and a warning that
/// names `what`.
[[nodiscard]] TRAINHOOK_DECL std::string utf8_text(std::string_view text, std::string_view what);

/// For a name that the program gives once, when it is set up. @throws InvalidArgumentError, naming `what`, if it is not
/// UTF-8.
TRAINHOOK_DECL void expect_utf8(std::string_view name, std::string_view what);

/// The beginning of `text`, at most so many characters; a byte that is not UTF-8 counts as one.
[[nodiscard]] TRAINHOOK_DECL std::string_view utf8_prefix(std::string_view text, std::size_t characters) noexcept;

/// A name that was in a file. @throws DataLossError, naming `what`, if it is not UTF-8.
[[nodiscard]] TRAINHOOK_DECL std::string checked_name(std::string_view name, std::string_view what);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/utf8.ipp>
#endif
