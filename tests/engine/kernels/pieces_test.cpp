// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of arrays in pieces, and of square roots.
#include <trainhook/engine/kernels/pieces.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace trainhook::detail {
namespace {

TEST(Pieces, CoverAllElementsOnce) {
  for (const auto& [size, expected] : std::vector<std::pair<std::size_t, std::vector<Eigen::Index>>>{
           {0, {}}, {1, {0, 1}}, {kPiece, {0, kPiece}}, {kPiece + 1, {0, kPiece, kPiece, 1}}}) {
    std::vector<Eigen::Index> found;
    in_pieces(size, [&](Eigen::Index at, Eigen::Index count) { found.insert(found.end(), {at, count}); });
    EXPECT_EQ(found, expected) << size;
  }
}

template <class T>
void expect_exact_roots() {
  Eigen::Array<T, Eigen::Dynamic, 1> squares(kPiece - 3);  // single elements behind the vectors
  T value = (std::numeric_limits<T>::min)();
  for (T& element : squares) {
    element = value;
    value *= static_cast<T>(1.187);
  }
  PieceRoom<T> room;
  const Eigen::Array<T, Eigen::Dynamic, 1> roots = square_roots(squares, room);
  for (Eigen::Index i = 0; i < squares.size(); ++i) EXPECT_EQ(roots[i], std::sqrt(squares[i])) << squares[i];
}

TEST(SquareRoots, AreRoundedAsTheStandardWantsIt) {
  expect_exact_roots<float>();
  expect_exact_roots<double>();
}

}  // namespace
}  // namespace trainhook::detail
