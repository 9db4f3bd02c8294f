// SPDX-License-Identifier: Apache-2.0
/// @file
/// Builds a message from pieces without a formatting library, so that core headers stay cheap to include.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

namespace trainhook {
namespace detail {

template <class T>
void append_piece(std::string& text, const T& piece) {
  if constexpr (std::same_as<T, bool>) {
    text += piece ? "true" : "false";
  } else if constexpr (std::same_as<T, char>) {
    text += piece;
  } else if constexpr (std::is_enum_v<T>) {
    append_piece(text, static_cast<std::underlying_type_t<T>>(piece));
  } else if constexpr (std::is_arithmetic_v<T>) {
    char digits[32];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, piece);
    text.append(digits, end);
  } else if constexpr (std::convertible_to<const T&, std::string_view>) {
    text += std::string_view(piece);
  } else {
    text += piece.to_string();
  }
}

}  // namespace detail

/// Concatenates strings, numbers (shortest form that reads back the same) and anything with `to_string()`.
template <class... Pieces>
[[nodiscard]] std::string str_cat(const Pieces&... pieces) {
  std::string text;
  (detail::append_piece(text, pieces), ...);
  return text;
}

}  // namespace trainhook
