// SPDX-License-Identifier: Apache-2.0
/// @file
/// Prints types of this library with fmt, as the text of their `to_string()`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include <trainhook/core/linkage.hpp>

#if FMT_VERSION >= 120000  // its <fmt/core.h> formats strings without what <fmt/format.h> declares for them later
#include <fmt/format.h>
#endif

namespace trainhook::detail {

TRAINHOOK_DECL fmt::format_context::iterator append_text(fmt::format_context& context, std::string_view text);

/// The characters of a `fmt::format_string`: fmt 9 has no `get()`, and fmt 12 warns of the conversion.
template <class Format>
[[nodiscard, gnu::always_inline]] constexpr fmt::string_view format_text(const Format& format) {
  if constexpr (requires { format.get(); }) {
    return format.get();
  } else {
    return format;
  }
}

/// A number as fmt prints it. Here and not `fmt::format`, which <fmt/core.h> declares only up to version 11.
[[nodiscard]] TRAINHOOK_DECL std::string number_text(std::int64_t number);
[[nodiscard]] TRAINHOOK_DECL std::string number_text(std::uint64_t number);
[[nodiscard]] TRAINHOOK_DECL std::string number_text(float number);
[[nodiscard]] TRAINHOOK_DECL std::string number_text(double number);

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
