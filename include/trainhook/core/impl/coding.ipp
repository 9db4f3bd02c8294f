// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/core/coding.hpp>

namespace trainhook::detail {

void insert_length(std::string& text, std::size_t begin) {
  std::string length;
  append_varint(length, text.size() - begin);
  text.insert(begin, length);
}

std::uint32_t fixed32_at(std::string_view text, std::size_t offset) noexcept {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i > 0; --i) value = value << 8 | static_cast<unsigned char>(text[offset + i - 1]);
  return value;
}

std::uint64_t fixed64_at(std::string_view text, std::size_t offset) noexcept {
  return fixed32_at(text, offset) | std::uint64_t{fixed32_at(text, offset + 4)} << 32;
}

std::optional<std::uint64_t> take_varint(std::string_view& text) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 10 && i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (i == 9 && byte > 1) return std::nullopt;
    value |= std::uint64_t{byte & 127u} << (7 * i);
    if (byte < 128) {
      text.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace trainhook::detail
