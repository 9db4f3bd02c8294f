// SPDX-License-Identifier: Apache-2.0
/// @file
/// strided_slice: parts of a tensor as Python's brackets name them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/inline_vector.hpp>
#include <trainhook/graph/array_ops.hpp>

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
  StridedSlicer(std::span<const std::int64_t> dims, const StridedSliceBounds& bounds, const StridedSliceMasks& masks)
      : dims_(dims), bounds_(bounds), masks_(masks) {}

  /// @throws InvalidArgumentError for bounds that do not fit the dimensions.
  [[nodiscard]] StridedParts parts() {
    const std::size_t entries = bounds_.begin.size();
    if (bounds_.end.size() != entries || bounds_.strides.size() != entries) {
      throw InvalidArgumentError("begin, end and strides have ", entries, ", ", bounds_.end.size(), " and ", bounds_.strides.size(),
                                 " elements, not equally many");
    }
    if (entries > kMostEntries) throw InvalidArgumentError("begin has ", entries, " elements; at most ", kMostEntries, " are taken");
    if ((masks_.ellipsis & (masks_.ellipsis - 1)) != 0) throw InvalidArgumentError("more than one ellipsis");
    for (std::size_t i = 0; i < entries; ++i) {
      if (has(masks_.ellipsis, i)) {
        take_whole(dimensions_from(i + 1));
      } else if (has(masks_.new_axis, i)) {
        parts_.result.push_back(1);
      } else {
        take(i);
      }
    }
    take_whole(0);
    if (parts_.result.size() > kMaxRank) {
      throw InvalidArgumentError("the result would have ", parts_.result.size(), " dimensions; at most ", kMaxRank, " can be held");
    }
    return parts_;
  }

 private:
  static constexpr std::size_t kMostEntries = 32;  // that masks have bits for

  [[nodiscard]] static bool has(std::int64_t mask, std::size_t i) noexcept { return (mask >> i & 1) != 0; }

  /// How many dimensions the entries from `i` on are about.
  [[nodiscard]] std::size_t dimensions_from(std::size_t i) const noexcept {
    std::size_t count = 0;
    for (; i < bounds_.begin.size(); ++i) count += has(masks_.new_axis, i) ? 0U : 1U;
    return count;
  }

  /// Takes all dimensions but the last `left`.
  void take_whole(std::size_t left) {
    while (parts_.count.size() + left < dims_.size()) add(0, 1, dims_[parts_.count.size()], true);
  }

  void add(std::int64_t begin, std::int64_t step, std::int64_t count, bool stays) {
    parts_.begin.push_back(begin);
    parts_.step.push_back(step);
    parts_.count.push_back(count);
    if (stays) parts_.result.push_back(count);
  }

  void take(std::size_t i) {
    const std::size_t axis = parts_.count.size();
    if (axis == dims_.size()) throw InvalidArgumentError("begin names more than the ", dims_.size(), " dimensions that there are");
    const std::int64_t extent = dims_[axis];
    const std::int64_t step = bounds_.strides[i];
    if (step == 0) throw InvalidArgumentError("strides[", i, "] is 0");
    if (has(masks_.shrink_axis, i)) {
      if (step < 0) throw InvalidArgumentError("strides[", i, "] is ", step, " for a single element; it has to be positive");
      const std::int64_t begin = bounds_.begin[i];
      if (extent == kUnknownDim) return add(begin, 1, 1, false);
      if (begin < -extent || begin >= extent) throw InvalidArgumentError("index ", begin, " leaves dimension ", axis, " of ", extent);
      return add(begin < 0 ? begin + extent : begin, 1, 1, false);
    }
    if (extent == kUnknownDim) return add(0, step, kUnknownDim, true);
    const std::int64_t first = step > 0 ? 0 : -1;
    const std::int64_t last = step > 0 ? extent : extent - 1;
    const auto place = [&](std::int64_t bound) { return std::clamp(bound < 0 ? bound + extent : bound, first, last); };
    const std::int64_t begin = has(masks_.begin, i) ? (step > 0 ? first : last) : place(bounds_.begin[i]);
    const std::int64_t end = has(masks_.end, i) ? (step > 0 ? last : first) : place(bounds_.end[i]);
    const std::int64_t way = step > 0 ? end - begin : begin - end;
    const std::uint64_t stride = step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
    add(begin, step, way <= 0 ? 0 : static_cast<std::int64_t>((static_cast<std::uint64_t>(way) - 1) / stride + 1), true);
  }

  std::span<const std::int64_t> dims_;
  StridedSliceBounds bounds_;
  StridedSliceMasks masks_;
  StridedParts parts_{};
};

/// The shape of a slice as far as it is known; nothing is known of it without constant bounds.
inline PartialShape strided_slice_shape(const PartialShape& from, const std::optional<std::vector<std::int64_t>>& begin,
                                        const std::optional<std::vector<std::int64_t>>& end,
                                        const std::optional<std::vector<std::int64_t>>& strides, const StridedSliceMasks& masks) {
  if (!from.has_rank() || !begin || !end || !strides) return {};
  const StridedParts parts = StridedSlicer(from.dims(), {*begin, *end, *strides}, masks).parts();
  return PartialShape(std::span<const std::int64_t>(parts.result));
}

}  // namespace detail

/// The elements of `x` from `begin` up to and without `end`, `strides` apart; negative bounds count from the end of a dimension, and those
/// beyond it end there. `x[1:, ::-1]` is `strided_slice(x, {1, 0}, {0, 0}, {1, -1}, {.begin = 2, .end = 3})`. Source: `tf.strided_slice`.
inline Output strided_slice(Output x, const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& end,
                            const std::vector<std::int64_t>& strides, const StridedSliceMasks& masks = {},
                            std::string_view name = "StridedSlice") {
  Graph& graph = detail::graph_of("StridedSlice", x);
  PartialShape shape;
  try {
    shape = detail::strided_slice_shape(x.shape(), begin, end, strides, masks);
  } catch (const InvalidArgumentError& error) {
    throw InvalidArgumentError("StridedSlice ", name, " of ", detail::spelled(x), ": ", error.what());
  }
  const Output from = detail::constant_ints(graph, begin, str_cat(name, "/begin"));
  const Output to = detail::constant_ints(graph, end, str_cat(name, "/end"));
  const Output apart = detail::constant_ints(graph, strides, str_cat(name, "/strides"));
  return detail::add_op(graph, "StridedSlice", name, {x, from, to, apart},
                        {{"Index", DType::Int32},
                         {"T", x.dtype()},
                         {"begin_mask", masks.begin},
                         {"ellipsis_mask", masks.ellipsis},
                         {"end_mask", masks.end},
                         {"new_axis_mask", masks.new_axis},
                         {"shrink_axis_mask", masks.shrink_axis}},
                        x.dtype(), shape);
}

}  // namespace trainhook
