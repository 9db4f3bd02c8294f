// SPDX-License-Identifier: Apache-2.0
/// @file
/// strided_slice: parts of a tensor, as with Python's brackets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <trainhook/core/inline_vector.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook {

/// Bit i of a mask applies to entry i of begin, end and strides.
struct StridedSliceMasks {
  std::int64_t begin = 0;        ///< ignores `begin`: starts at the start of the dimension
  std::int64_t end = 0;          ///< ignores `end`: stops at the end of the dimension
  std::int64_t ellipsis = 0;     ///< takes all remaining dimensions as a whole; at most one bit
  std::int64_t new_axis = 0;     ///< inserts a dimension of extent 1
  std::int64_t shrink_axis = 0;  ///< takes the element at `begin` and drops the dimension
};

namespace detail {

/// StridedSlice, StridedSliceGrad.
[[nodiscard]] TRAINHOOK_DECL OpFamily strided_slice_ops() noexcept;

/// Begin, end and strides of a slice as far as they are known.
struct StridedSliceBounds {
  std::span<const std::int64_t> begin{};
  std::span<const std::int64_t> end{};
  std::span<const std::int64_t> strides{};
};

/// The part of each dimension that a slice takes, and the resulting shape.
struct StridedParts {
  InlineVector<std::int64_t, kMaxRank> begin{};
  InlineVector<std::int64_t, kMaxRank> step{};
  InlineVector<std::int64_t, kMaxRank> count{};  ///< kUnknownDim if the extent is unknown
  InlineVector<std::int64_t, kMaxRank> result{};
};

/// Computes the parts of a slice. Source: `tf.strided_slice`.
class StridedSlicer {
 public:
  TRAINHOOK_DECL StridedSlicer(std::span<const std::int64_t> dims, const StridedSliceBounds& bounds,
                               const StridedSliceMasks& masks);

  /// @throws InvalidArgumentError for bounds that do not fit the dimensions.
  [[nodiscard]] TRAINHOOK_DECL StridedParts parts();

 private:
  static constexpr std::size_t kMostEntries = 32;  // the number of bits of a mask

  [[nodiscard]] static bool has(std::int64_t mask, std::size_t i) noexcept { return (mask >> i & 1) != 0; }

  /// The number of dimensions that the entries from `i` on use.
  [[nodiscard]] TRAINHOOK_DECL std::size_t dimensions_from(std::size_t i) const noexcept;

  /// Takes all remaining dimensions as a whole, except the last `left`.
  TRAINHOOK_DECL void take_whole(std::size_t left);

  TRAINHOOK_DECL void add(std::int64_t begin, std::int64_t step, std::int64_t count, bool stays);
  TRAINHOOK_DECL void take(std::size_t i);

  std::span<const std::int64_t> dims_;
  StridedSliceBounds bounds_;
  StridedSliceMasks masks_;
  StridedParts parts_{};
};

}  // namespace detail

/// The elements of `x` from `begin` up to but without `end`, in steps of `strides`. Negative bounds count from the end
/// of a dimension; bounds beyond it are clamped. `x[1:, ::-1]` is `strided_slice(x, {1, 0}, {0, 0}, {1, -1}, {.begin =
/// 2, .end = 3})`. Source: `tf.strided_slice`.
TRAINHOOK_DECL Output strided_slice(Output x, const std::vector<std::int64_t>& begin,
                                    const std::vector<std::int64_t>& end, const std::vector<std::int64_t>& strides,
                                    const StridedSliceMasks& masks = {}, std::string_view name = "StridedSlice");

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/ops/impl/strided_slice.ipp>
#endif
