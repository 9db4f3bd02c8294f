// SPDX-License-Identifier: Apache-2.0
/// @file
/// Processes arrays in pieces that stay in the L1 cache, so that several expressions make one pass over memory.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <Eigen/Core>

#include <trainhook/engine/kernels/blocks.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace trainhook::detail {

/// Larger pieces are slower, although they fit: if the arrays begin at the same place of a page, so do their pieces,
/// and displace each other. Adam takes 1.6 times as long in pieces of 1024.
inline constexpr Eigen::Index kPiece = 128;

/// Calls `update(offset, size)` for all pieces. Inlines all calls, which g++ does not do at -O2: if Eigen's loop is a
/// separate function, it reads its pointers from memory for each vector.
template <class Update>
[[gnu::flatten]] void in_pieces(std::size_t size, const Update& update) {
  const auto end = static_cast<Eigen::Index>(size);
  for (Eigen::Index at = 0; at < end; at += kPiece) update(at, (std::min)(kPiece, end - at));
}

/// The same on the session's threads, if there are many pieces.
template <class Update>
void in_pieces(const KernelContext& context, std::size_t size, const Update& update) {
  for_each_block(context, {static_cast<std::int64_t>(size), 1}, [&](const Block& block) {
    in_pieces(static_cast<std::size_t>(block.size()),
              [&](Eigen::Index at, Eigen::Index count) { update(block.begin + at, count); });
  });
}

/// Memory for the elements of a piece.
template <class T>
struct alignas(64) PieceRoom {
  std::array<T, static_cast<std::size_t>(kPiece)> elements;  // uninitialized
};

/// Whether `square_roots()` uses the processor's instruction, which rounds as IEEE 754 requires. Eigen uses it for
/// doubles. For floats Eigen's result differs by up to 3 units in the last place; with SSE vectors that is no faster,
/// with AVX it takes 0.7 of the time, so there Eigen's is used.
#if defined(__SSE2__) && !defined(__AVX__)
template <class T>
inline constexpr bool kHasOwnRoots = std::is_same_v<T, float>;

inline void take_square_roots(const float* squares, float* roots, Eigen::Index count) {
  constexpr Eigen::Index kVector = 4;
  Eigen::Index i = 0;
  for (; i + kVector <= count; i += kVector) _mm_storeu_ps(roots + i, _mm_sqrt_ps(_mm_loadu_ps(squares + i)));
  for (; i < count; ++i) roots[i] = std::sqrt(squares[i]);
}
#else
template <class T>
inline constexpr bool kHasOwnRoots = false;

inline void take_square_roots(const float* /*squares*/, float* /*roots*/, Eigen::Index /*count*/) {}
#endif

/// The square roots of an array, or an expression, of at most kPiece elements; the result is an expression that may
/// refer to `room`.
template <class T, class Squares>
[[nodiscard]] auto square_roots(const Squares& squares, PieceRoom<T>& room) {
  if constexpr (kHasOwnRoots<T>) {
    ArrayMap<T> roots(room.elements.data(), squares.size());
    if constexpr (requires { squares.data(); }) {
      take_square_roots(squares.data(), roots.data(), roots.size());
    } else {
      roots = squares;
      take_square_roots(roots.data(), roots.data(), roots.size());
    }
    return roots;
  } else {
    return squares.sqrt();
  }
}

}  // namespace trainhook::detail
