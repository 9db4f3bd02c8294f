// SPDX-License-Identifier: Apache-2.0
/// @file
/// Processes arrays in pieces that stay in the L1 cache, so that several expressions make one pass over memory.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <trainhook/engine/kernels/blocks.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>
#include <trainhook/engine/kernels/vectors.hpp>

#include <Eigen/Core>

namespace trainhook::detail {

/// Larger pieces are slower, although they fit: if the arrays begin at the same place of a page, so do their pieces,
/// and displace each other.
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

/// The square roots, rounded as IEEE 754 requires, of an array, or an expression, of at most kPiece elements. The
/// result refers to `room`.
template <class T, class Squares>
[[nodiscard]] ArrayMap<T> square_roots(const Squares& squares, PieceRoom<T>& room) {
  constexpr auto kSize = static_cast<Eigen::Index>(kernels::detail::kVectorSize<T>);
  using Vector = typename kernels::detail::VectorOf<T, kernels::detail::kVectorSize<T>>::type;
  ArrayMap<T> roots(room.elements.data(), squares.size());
  roots = squares;
  Eigen::Index i = 0;
  for (T* at = roots.data(); i + kSize <= roots.size(); i += kSize, at += kSize)
    kernels::detail::store(kernels::detail::square_root(kernels::detail::load<Vector>(at)), at);
  for (; i < roots.size(); ++i) roots[i] = std::sqrt(roots[i]);
  return roots;
}

}  // namespace trainhook::detail
