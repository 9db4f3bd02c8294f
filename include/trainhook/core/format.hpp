// SPDX-License-Identifier: Apache-2.0
/// @file
/// Prints types of this library with fmt, as the text of their `to_string()`.
#pragma once

#include <string_view>

#include <fmt/core.h>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL fmt::format_context::iterator append_text(fmt::format_context& context, std::string_view text);

/// The base of a `fmt::formatter<T>`; takes no format specification.
template <class T>
struct ToStringFormatter {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  auto format(const T& value, fmt::format_context& context) const { return append_text(context, value.to_string()); }
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/format.ipp>
#endif
