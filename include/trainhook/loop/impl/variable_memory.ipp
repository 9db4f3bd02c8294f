// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/loop/variable_memory.hpp>

#include <algorithm>
#include <cstring>

#include <trainhook/core/error.hpp>

namespace trainhook::detail {

// `to` becomes the transpose of `from`, which has `rows` rows of `columns` elements. In tiles, so that both sides stay
// in the cache.
template <std::size_t ElementSize>
void transpose(const std::byte* from, std::byte* to, std::size_t rows, std::size_t columns) noexcept {
  constexpr std::size_t kTile = 32;
  for (std::size_t top = 0; top < rows; top += kTile) {
    const std::size_t bottom = (std::min)(top + kTile, rows);
    for (std::size_t left = 0; left < columns; left += kTile) {
      const std::size_t right = (std::min)(left + kTile, columns);
      for (std::size_t row = top; row < bottom; ++row) {
        for (std::size_t column = left; column < right; ++column) {
          std::memcpy(to + (column * rows + row) * ElementSize, from + (row * columns + column) * ElementSize,
                      ElementSize);
        }
      }
    }
  }
}

void transpose(std::span<const std::byte> from, std::span<std::byte> to, std::size_t rows, std::size_t columns) {
  if (from.empty()) return;
  switch (from.size() / (rows * columns)) {
    case 1: return transpose<1>(from.data(), to.data(), rows, columns);
    case 2: return transpose<2>(from.data(), to.data(), rows, columns);
    case 4: return transpose<4>(from.data(), to.data(), rows, columns);
    case 8: return transpose<8>(from.data(), to.data(), rows, columns);
    case 16: return transpose<16>(from.data(), to.data(), rows, columns);
    default: throw InternalError("no element has {} bytes", from.size() / (rows * columns));
  }
}

inline void copy_bytes(std::span<const std::byte> from, std::span<std::byte> to) noexcept {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

void to_row_major(std::span<const std::byte> memory, Layout layout, const Shape& shape, std::span<std::byte> to) {
  if (layout == Layout::RowMajor) return copy_bytes(memory, to);
  transpose(memory, to, static_cast<std::size_t>(shape[1]), static_cast<std::size_t>(shape[0]));
}

void from_row_major(std::span<const std::byte> from, Layout layout, const Shape& shape, std::span<std::byte> memory) {
  if (layout == Layout::RowMajor) return copy_bytes(from, memory);
  transpose(from, memory, static_cast<std::size_t>(shape[0]), static_cast<std::size_t>(shape[1]));
}

}  // namespace trainhook::detail
