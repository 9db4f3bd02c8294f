// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/core/utf8.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>

namespace trainhook::detail {

/// How many bytes the character takes that starts with this byte, and the least number that needs so many; 0 bytes if
/// none starts so.
struct Utf8Lead {
  std::size_t size = 0;
  std::uint32_t least = 0;
  std::uint32_t bits = 0;
};

constexpr Utf8Lead utf8_lead(unsigned char byte) noexcept {
  if (byte < 0x80) return {1, 0, byte};
  if (byte >= 0xc0 && byte < 0xe0) return {2, 0x80, byte & 0x1fU};
  if (byte >= 0xe0 && byte < 0xf0) return {3, 0x800, byte & 0x0fU};
  if (byte >= 0xf0 && byte < 0xf8) return {4, 0x10000, byte & 0x07U};
  return {};
}

/// The size of the character at the start of `text`; 0 if there is none.
inline std::size_t utf8_size(std::string_view text) noexcept {
  const Utf8Lead lead = utf8_lead(static_cast<unsigned char>(text[0]));
  if (lead.size == 0 || text.size() < lead.size) return 0;
  std::uint32_t number = lead.bits;
  for (std::size_t i = 1; i < lead.size; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0U) != 0x80U) return 0;
    number = number << 6 | (byte & 0x3fU);
  }
  const bool is_surrogate = number >= 0xd800 && number < 0xe000;
  return number < lead.least || number > 0x10ffff || is_surrogate ? 0 : lead.size;
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t size = utf8_size(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

inline std::string with_replacements(std::string_view text) {
  std::string replaced;
  while (!text.empty()) {
    const std::size_t size = utf8_size(text);
    replaced += size == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, size);
    text.remove_prefix((std::max)(size, std::size_t{1}));
  }
  return replaced;
}

std::string utf8_text(std::string_view text, std::string_view what) {
  if (is_utf8(text)) return std::string(text);
  std::string replaced = with_replacements(text);
  log_warning("{} is not UTF-8 and is written as '{}'", what, replaced);
  return replaced;
}

void expect_utf8(std::string_view name, std::string_view what) {
  if (!is_utf8(name))
    throw InvalidArgumentError("{} '{}' is not UTF-8, which files need; convert it", what, with_replacements(name));
}

std::string_view utf8_prefix(std::string_view text, std::size_t characters) noexcept {
  std::string_view rest = text;
  for (; characters > 0 && !rest.empty(); --characters) rest.remove_prefix((std::max)(utf8_size(rest), std::size_t{1}));
  return text.substr(0, text.size() - rest.size());
}

std::string checked_name(std::string_view name, std::string_view what) {
  if (!is_utf8(name)) throw DataLossError("{} is damaged or of another format: a name in it is not UTF-8", what);
  return std::string(name);
}

}  // namespace trainhook::detail
