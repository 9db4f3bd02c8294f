// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix products whose first factor is not stored as a matrix: its elements are gathered from memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <trainhook/engine/kernels/vectors.hpp>

namespace trainhook::kernels::detail {

/// Offsets in elements, in the order of two nested loops.
struct Lattice {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t row_stride;
  std::int64_t column_stride;

  [[nodiscard]] std::int64_t size() const noexcept { return rows * columns; }
};

/// Iterates over a lattice.
class LatticeCursor {
 public:
  explicit LatticeCursor(const Lattice& lattice) noexcept : lattice_(lattice) {}

  /// Returns the current offset and advances.
  std::int64_t next() noexcept {
    const std::int64_t offset = row_ + column_ * lattice_.column_stride;
    if (++column_ == lattice_.columns) {
      column_ = 0;
      row_ += lattice_.row_stride;
    }
    return offset;
  }

 private:
  const Lattice& lattice_;
  std::int64_t row_ = 0;
  std::int64_t column_ = 0;
};

/// `result[i][j] (+)= sum over k of a[i + k] * b[k][j]`, where i runs over `rows` and k over `inner`: for a plain
/// matrix, both lattices have one row. In a convolution i is a position and k an element of the window.
template <class T>
struct GatheredProduct {
  const T* a;
  Lattice rows;
  Lattice inner;
  const T* b;
  std::int64_t b_stride;             // from one k to the next; this or the other is 1
  std::int64_t b_column_stride = 1;  // from one column to the next
  std::int64_t columns;
  T* result;  // its columns are contiguous
  Lattice result_rows;
  bool adds = false;     // adds to the result instead of replacing it
  T* packing = nullptr;  // memory for kPackingSize<T> elements
};

constexpr std::int64_t kInnerBlock = 512;

/// The number of vectors per row of a tile: 6 rows of them fill most registers.
template <class T>
inline constexpr std::size_t kTileVectors = kVectorRegisters >= 32 ? 4 : 2;
template <class T>
inline constexpr std::size_t kPackingSize = kInnerBlock * kTileVectors<T> * kVectorSize<T>;

/// Works in blocks, so that what is read and written stays in the cache.
template <class T>
void transpose(const T* from, std::int64_t rows, std::int64_t columns, std::int64_t row_stride, T* to) {
  constexpr std::int64_t kBlock = 8;
  for (std::int64_t first = 0; first < columns; first += kBlock) {
    const std::int64_t last = (std::min)(first + kBlock, columns);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = first; column < last; ++column)
        to[column * rows + row] = from[row * row_stride + column];
    }
  }
}

/// Offsets of a tile's rows, in the first factor and the result.
template <class T, std::size_t Rows>
struct TileRows {
  const T* a[Rows];
  T* result[Rows];

  [[gnu::always_inline]] TileRows(const GatheredProduct<T>& product, LatticeCursor& from, LatticeCursor& to) {
    unrolled<Rows>([&](auto r) {
      a[r] = product.a + from.next();
      result[r] = product.result + to.next();
    });
  }
};

/// A tile of `Vectors` vectors of `Size` columns, which stay in registers for all k; only the first `Width` columns of
/// the last vector are used.
template <std::size_t Size, std::size_t Vectors, std::size_t Width = Size>
struct WideTile {
  static constexpr std::int64_t kColumns = (Vectors - 1) * Size + Width;

  /// True if columns are not contiguous, or if rows are so far apart that copying them pays.
  template <class T>
  static bool has_to_pack(const GatheredProduct<T>& product) {
    return product.b_column_stride != 1 || (product.b_stride > 256 && product.rows.size() >= 48);
  }

  template <class Vector, class T>
  [[gnu::always_inline]] static Vector load_columns(const T* from) {
    if constexpr (Width == Size) return load<Vector>(from);
    Vector vector{};
    unrolled<Width>([&](auto i) { vector[i()] = from[i()]; });
    return vector;
  }

  template <class T, std::size_t Rows>
  static void multiply(const GatheredProduct<T>& product, const TileRows<T, Rows>& rows) {
    using Vector = typename VectorOf<T, Size>::type;
    Vector sums[Rows][Vectors] = {};
    if (product.adds) {
      unrolled<Rows>([&](auto r) {
        unrolled<Vectors>([&](auto v) { sums[r][v] = load_columns<Vector>(rows.result[r] + v * Size); });
      });
    }
    const T* b = product.b;
    for (std::int64_t row = 0; row < product.inner.rows; ++row) {
      std::int64_t k = row * product.inner.row_stride;
      for (std::int64_t i = 0; i < product.inner.columns;
           ++i, k += product.inner.column_stride, b += product.b_stride) {
        Vector factors[Vectors];
        unrolled<Vectors>([&](auto v) { factors[v] = load_columns<Vector>(b + v * Size); });
        unrolled<Rows>([&](auto r) { unrolled<Vectors>([&](auto v) { sums[r][v] += rows.a[r][k] * factors[v]; }); });
      }
    }
    unrolled<Rows>([&](auto r) {
      unrolled<Vectors>([&](auto v) { std::memcpy(rows.result[r] + v * Size, &sums[r][v], Width * sizeof(T)); });
    });
  }
};

/// Computes one column, `Size` products at a time, if k is contiguous in the first factor.
template <std::size_t Size>
struct DotTile {
  static constexpr std::int64_t kColumns = 1;

  template <class T>
  static bool has_to_pack(const GatheredProduct<T>& product) {
    return product.b_stride != 1;
  }

  template <class T, std::size_t Rows>
  static void multiply(const GatheredProduct<T>& product, const TileRows<T, Rows>& rows) {
    using Vector = typename VectorOf<T, Size>::type;
    constexpr std::int64_t kStep = Size;
    Vector sums[Rows] = {};
    T rest[Rows] = {};
    const T* b = product.b;
    for (std::int64_t row = 0; row < product.inner.rows; ++row, b += product.inner.columns) {
      const std::int64_t first = row * product.inner.row_stride;
      std::int64_t k = 0;
      for (; k + kStep <= product.inner.columns; k += kStep) {
        const Vector factors = load<Vector>(b + k);
        unrolled<Rows>([&](auto r) { sums[r] += load<Vector>(rows.a[r] + first + k) * factors; });
      }
      for (; k < product.inner.columns; ++k) {
        unrolled<Rows>([&](auto r) { rest[r] += rows.a[r][first + k] * b[k]; });
      }
    }
    unrolled<Rows>([&](auto r) {
      rest[r] += sum<Size>(sums[r]);
      *rows.result[r] = product.adds ? *rows.result[r] + rest[r] : rest[r];
    });
  }
};

/// Copies the next columns of the second factor to contiguous memory, one k after another.
template <std::size_t Columns, class T>
void pack_columns(GatheredProduct<T>& product) {
  constexpr std::int64_t kColumns = Columns;
  if (product.b_column_stride != 1) {
    transpose(product.b, kColumns, product.inner.size(), product.b_column_stride, product.packing);
  } else {
    for (std::int64_t k = 0; k < product.inner.size(); ++k)
      std::copy_n(product.b + k * product.b_stride, kColumns, product.packing + k * kColumns);
  }
  product.b = product.packing;
  product.b_stride = kColumns;
}

/// Computes as many columns as fill whole tiles, and removes them from the product.
template <class Tile, class T>
void multiply_tiles(GatheredProduct<T>& product) {
  constexpr std::int64_t kRows = 6;
  for (; product.columns >= Tile::kColumns; product.columns -= Tile::kColumns) {
    GatheredProduct<T> part = product;
    if (Tile::has_to_pack(product)) pack_columns<Tile::kColumns>(part);
    LatticeCursor from(part.rows);
    LatticeCursor to(part.result_rows);
    std::int64_t row = 0;
    for (; row + kRows <= part.rows.size(); row += kRows) Tile::multiply(part, TileRows<T, kRows>(part, from, to));
    for (; row + 2 <= part.rows.size(); row += 2) Tile::multiply(part, TileRows<T, 2>(part, from, to));
    for (; row < part.rows.size(); ++row) Tile::multiply(part, TileRows<T, 1>(part, from, to));
    product.b += Tile::kColumns * product.b_column_stride;
    product.result += Tile::kColumns;
  }
}

/// Computes all columns, in the widest tiles that fit.
template <class T>
void multiply_block(GatheredProduct<T> product) {
  constexpr std::size_t kSize = kVectorSize<T>;
  constexpr std::size_t kSmallSize = 16 / sizeof(T);
  const bool has_dots = product.inner.column_stride == 1 && product.inner.columns >= std::int64_t{kSize};
  if constexpr (kTileVectors<T> > 2) multiply_tiles<WideTile<kSize, kTileVectors<T>>>(product);
  multiply_tiles<WideTile<kSize, 2>>(product);
  multiply_tiles<WideTile<kSize, 1>>(product);
  if constexpr (kSmallSize < kSize / 2) multiply_tiles<WideTile<kSize / 2, 1>>(product);
  if (has_dots) return multiply_tiles<DotTile<kSize>>(product);
  if constexpr (kSmallSize < kSize) multiply_tiles<WideTile<kSmallSize, 1>>(product);
  if constexpr (kSmallSize > 2) {
    multiply_tiles<WideTile<kSmallSize, 1, 3>>(product);
    multiply_tiles<WideTile<kSmallSize, 1, 2>>(product);
  }
  multiply_tiles<WideTile<kSmallSize, 1, 1>>(product);
}

/// Multiplies in blocks of k whose rows of the second factor stay in the cache for all rows of the result.
template <class T>
void multiply_gathered(const GatheredProduct<T>& product) {
  const Lattice& inner = product.inner;
  const std::int64_t columns = (std::min)(inner.columns, kInnerBlock);
  const std::int64_t rows = (std::max)(std::int64_t{1}, kInnerBlock / (std::max)(std::int64_t{1}, columns));
  GatheredProduct<T> block = product;
  std::int64_t row = 0;
  do {
    std::int64_t column = 0;
    block.inner.rows = (std::min)(rows, inner.rows - row);
    do {
      block.inner.columns = (std::min)(columns, inner.columns - column);
      block.a = product.a + row * inner.row_stride + column * inner.column_stride;
      block.b = product.b + (row * inner.columns + column) * product.b_stride;
      multiply_block(block);
      block.adds = true;
      column += block.inner.columns;
    } while (column < inner.columns);
    row += block.inner.rows;
  } while (row < inner.rows);
}

}  // namespace trainhook::kernels::detail
