// SPDX-License-Identifier: Apache-2.0
/// @file
/// Little-endian numbers and varints in byte strings.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// Appends the bytes of `bits`, low byte first. It appends them at once, as `append_varint` does: growing the string
/// byte by byte takes twice as long.
template <std::unsigned_integral T>
void append_fixed(std::string& text, T bits) {
  std::array<char, sizeof bits> buffer;
  for (std::size_t i = 0; i < sizeof bits; ++i) buffer[i] = static_cast<char>(bits >> (8 * i) & 255);
  text.append(buffer.data(), buffer.size());
}

inline void append_varint(std::string& text, std::uint64_t value) {
  std::array<char, 10> buffer;
  std::size_t size = 0;
  for (; value >= 128; value >>= 7) buffer[size++] = static_cast<char>((value & 127) | 128);
  buffer[size++] = static_cast<char>(value);
  text.append(buffer.data(), size);
}

/// Puts the length of what follows `begin` in front of it, as a varint.
TRAINHOOK_DECL void insert_length(std::string& text, std::size_t begin);

/// The caller has checked that four bytes are there.
[[nodiscard]] TRAINHOOK_DECL std::uint32_t fixed32_at(std::string_view text, std::size_t offset) noexcept;

/// The caller has checked that eight bytes are there.
[[nodiscard]] TRAINHOOK_DECL std::uint64_t fixed64_at(std::string_view text, std::size_t offset) noexcept;

/// Removes a varint from the front and returns it; nothing if the text ends inside it or it is longer than 64 bits.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::uint64_t> take_varint(std::string_view& text) noexcept;

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/coding.ipp>
#endif
