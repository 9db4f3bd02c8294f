// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of slice_key.hpp.
#pragma once

#include <trainhook/checkpoint/slice_key.hpp>

#include <array>
#include <cstddef>

namespace trainhook::detail {

inline void append_ordered_number(std::string& key, std::uint64_t value) {
  std::size_t size = 0;
  while (size < 8 && value >> (8 * size) != 0) ++size;
  key += static_cast<char>(size);
  for (std::size_t i = size; i > 0; --i) key += static_cast<char>(value >> (8 * (i - 1)) & 255);
}

inline void append_ordered_string(std::string& key, std::string_view text) {
  for (const char c : text) {
    key += c;
    if (c == '\0') key += '\xff';
    if (c == '\xff') key += '\0';
  }
  key += '\0';
  key += '\1';
}

void append_ordered_signed(std::string& key, std::int64_t value) {
  constexpr std::size_t kMost = 10;
  const auto fits = [&](std::size_t size) {  // 7 bits of each byte are the value's
    return size == kMost ||
           (value >= -(std::int64_t{1} << (7 * size - 1)) && value < std::int64_t{1} << (7 * size - 1));
  };
  std::size_t size = 1;
  while (!fits(size)) ++size;
  std::array<unsigned char, kMost> bytes{};
  for (std::size_t i = 0; i < size; ++i) {  // from the last
    const std::int64_t shifted = i < 8 ? value >> (8 * i) : value >> 63;
    bytes[size - 1 - i] = static_cast<unsigned char>(shifted & 255);
  }
  for (std::size_t bit = 0; bit < size; ++bit) bytes[bit / 8] ^= static_cast<unsigned char>(128U >> bit % 8);
  for (std::size_t i = 0; i < size; ++i) key += static_cast<char>(bytes[i]);
}

std::string slice_key(std::string_view name, const TensorSlice& slice) {
  std::string key;
  append_ordered_number(key, 0);
  append_ordered_string(key, name);
  append_ordered_number(key, slice.rank());
  for (const TensorSlice::Extent& extent : slice.extents()) {
    append_ordered_signed(key, extent.start);
    append_ordered_signed(key, extent.length);
  }
  return key;
}

}  // namespace trainhook::detail
