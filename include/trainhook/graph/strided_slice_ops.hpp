// SPDX-License-Identifier: Apache-2.0
/// @file
/// strided_slice: parts of a tensor as Python's brackets name them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <trainhook/core/inline_vector.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook {

/// Bit i of a mask is about entry i of begin, end and strides.
struct StridedSliceMasks {
  std::int64_t begin = 0;        ///< begins where the dimension does, whatever `begin` says
  std::int64_t end = 0;          ///< ends where the dimension does
  std::int64_t ellipsis = 0;     ///< stands for as many whole dimensions as are left; one bit at most
  std::int64_t new_axis = 0;     ///< puts a dimension of extent 1 there
  std::int64_t shrink_axis = 0;  ///< takes the element at `begin`; the dimension goes
};

namespace detail {

/// Begin, end and strides of a slice as far as they are known.
struct StridedSliceBounds {
  std::span<const std::int64_t> begin{};
  std::span<const std::int64_t> end{};
  std::span<const std::int64_t> strides{};
};

/// What a slice takes of each dimension, and the shape that comes out.
struct StridedParts {
  InlineVector<std::int64_t, kMaxRank> begin{};
  InlineVector<std::int64_t, kMaxRank> step{};
  InlineVector<std::int64_t, kMaxRank> count{};  ///< kUnknownDim where the extent is
  InlineVector<std::int64_t, kMaxRank> result{};
};

/// Works out a slice, one dimension after the other. Source: `tf.strided_slice`.
class StridedSlicer {
 public:
  TRAINHOOK_DECL StridedSlicer(std::span<const std::int64_t> dims, const StridedSliceBounds& bounds,
                               const StridedSliceMasks& masks);

  /// @throws InvalidArgumentError for bounds that do not fit the dimensions.
  [[nodiscard]] TRAINHOOK_DECL StridedParts parts();

 private:
  static constexpr std::size_t kMostEntries = 32;  // that masks have bits for

  [[nodiscard]] static bool has(std::int64_t mask, std::size_t i) noexcept { return (mask >> i & 1) != 0; }

  /// How many dimensions the entries from `i` on are about.
  [[nodiscard]] TRAINHOOK_DECL std::size_t dimensions_from(std::size_t i) const noexcept;

  /// Takes all dimensions but the last `left`.
  TRAINHOOK_DECL void take_whole(std::size_t left);

  TRAINHOOK_DECL void add(std::int64_t begin, std::int64_t step, std::int64_t count, bool stays);
  TRAINHOOK_DECL void take(std::size_t i);

  std::span<const std::int64_t> dims_;
  StridedSliceBounds bounds_;
  StridedSliceMasks masks_;
  StridedParts parts_{};
};

/// The shape of a slice as far as it is known; nothing is known of it without constant bounds.
TRAINHOOK_DECL PartialShape strided_slice_shape(const PartialShape& from,
                                                const std::optional<std::vector<std::int64_t>>& begin,
                                                const std::optional<std::vector<std::int64_t>>& end,
                                                const std::optional<std::vector<std::int64_t>>& strides,
                                                const StridedSliceMasks& masks);

}  // namespace detail

/// The elements of `x` from `begin` up to and without `end`, `strides` apart; negative bounds count from the end of a
/// dimension, and those beyond it end there. `x[1:, ::-1]` is `strided_slice(x, {1, 0}, {0, 0}, {1, -1}, {.begin = 2,
/// .end = 3})`. Source: `tf.strided_slice`.
TRAINHOOK_DECL Output strided_slice(Output x, const std::vector<std::int64_t>& begin,
                                    const std::vector<std::int64_t>& end, const std::vector<std::int64_t>& strides,
                                    const StridedSliceMasks& masks = {}, std::string_view name = "StridedSlice");

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/strided_slice_ops.ipp>
#endif
