// SPDX-License-Identifier: Apache-2.0
/// @file
/// TensorSlice: a region of a tensor, such as a piece of a partitioned variable.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <trainhook/core/format.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>

namespace trainhook {
class TensorSlice;
}

template <>
struct fmt::formatter<trainhook::TensorSlice> : trainhook::detail::ToStringFormatter<trainhook::TensorSlice> {};

namespace trainhook {

/// For each dimension, the start and length of the region, or the whole dimension: `TensorSlice{{3, 2}, {}}` is rows 3
/// and 4 of a matrix. Slices compare by their form, on which the key in a checkpoint depends: a whole dimension of 5
/// differs from `{0, 5}`. Source: TensorFlow's `TensorSlice`.
class TensorSlice {
 public:
  static constexpr std::int64_t kFull = -1;

  struct Extent {
    std::int64_t start = 0;
    std::int64_t length = kFull;

    [[nodiscard]] bool is_full() const noexcept { return length == kFull; }
    friend bool operator==(const Extent&, const Extent&) = default;
  };

  /// The slice of a scalar.
  TensorSlice() noexcept = default;

  /// @throws InvalidArgumentError for a negative start, a length that is neither positive nor `kFull`, or more than
  /// `kMaxRank` dimensions.
  TRAINHOOK_DECL TensorSlice(std::initializer_list<Extent> extents);
  TRAINHOOK_DECL explicit TensorSlice(std::span<const Extent> extents);

  /// The whole of a tensor of `rank` dimensions.
  [[nodiscard]] TRAINHOOK_DECL static TensorSlice all_of(std::size_t rank);

  /// Parses TensorFlow's text: `3,2:-` is start 3 and length 2 in the first dimension and the whole second one; an
  /// empty text is a scalar's.
  /// @throws InvalidArgumentError for any other text.
  [[nodiscard]] TRAINHOOK_DECL static TensorSlice parse(std::string_view text);

  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] const Extent& operator[](std::size_t axis) const noexcept { return extents_[axis]; }
  [[nodiscard]] std::span<const Extent> extents() const noexcept { return {extents_.data(), rank_}; }

  /// The same region of a tensor of shape `full`, with a start and a length in every dimension.
  /// @throws InvalidArgumentError if it has another rank or reaches past the tensor.
  [[nodiscard]] TRAINHOOK_DECL TensorSlice within(const Shape& full) const;

  /// The shape of the region in a tensor of shape `full`. @throws as `within`.
  [[nodiscard]] TRAINHOOK_DECL Shape shape_in(const Shape& full) const;

  /// TensorFlow's text, which `parse` reads.
  [[nodiscard]] TRAINHOOK_DECL std::string to_string() const;

  friend bool operator==(const TensorSlice& a, const TensorSlice& b) noexcept {
    return std::ranges::equal(a.extents(), b.extents());
  }

 private:
  [[nodiscard]] TRAINHOOK_DECL static std::optional<Extent> parse_extent(std::string_view text);

  std::array<Extent, kMaxRank> extents_{};
  std::size_t rank_ = 0;
};

namespace detail {

/// The intersection of two regions of a tensor, which `within` must have returned; nothing if they share no element.
[[nodiscard]] TRAINHOOK_DECL std::optional<TensorSlice> intersection(const TensorSlice& a, const TensorSlice& b);

/// Regions of a tensor, which `within` must have returned, in an order in which a question looks at few of them.
class Regions {
 public:
  TRAINHOOK_DECL explicit Regions(std::vector<TensorSlice> regions);

  [[nodiscard]] const TensorSlice& operator[](std::size_t i) const noexcept { return regions_[i]; }

  /// The indices of two that share an element; nothing if no two do.
  [[nodiscard]] TRAINHOOK_DECL std::optional<std::pair<std::size_t, std::size_t>> find_overlap() const;

  /// The indices of those that share an element with `region`.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::size_t> meeting(const TensorSlice& region) const;

 private:
  using Starts = std::vector<std::pair<std::int64_t, std::size_t>>;  // sorted, each with the region that has it

  [[nodiscard]] TRAINHOOK_DECL Starts starts_along(std::size_t axis) const;

  std::vector<TensorSlice> regions_;
  Starts starts_;  // along the axis with the most different ones
  std::size_t axis_ = 0;
  std::int64_t longest_ = 1;  // along that axis
};

/// Copies the elements that two regions of a tensor share from one to the other. Both are row-major in memory; an
/// element takes `units` items.
template <class Item>
void copy_shared(std::span<const Item> from, const TensorSlice& from_region, std::span<Item> to,
                 const TensorSlice& to_region, std::size_t units) {
  const std::optional<TensorSlice> shared = intersection(from_region, to_region);
  if (!shared) return;
  const auto length = [](const TensorSlice& region, std::size_t axis) {
    return static_cast<std::size_t>(region[axis].length);
  };
  std::size_t outer = shared->rank();  // loops over the dimensions before this one; the rest is contiguous in both
  std::size_t run = units;
  while (outer > 0) {
    run *= length(*shared, --outer);
    if ((*shared)[outer].length != from_region[outer].length || (*shared)[outer].length != to_region[outer].length)
      break;
  }
  const auto offset_in = [&](const TensorSlice& region, std::span<const std::size_t> steps) {
    std::size_t offset = 0;
    for (std::size_t axis = 0; axis < region.rank(); ++axis) {
      offset = offset * length(region, axis) + static_cast<std::size_t>((*shared)[axis].start - region[axis].start) +
               steps[axis];
    }
    return offset * units;
  };
  std::array<std::size_t, kMaxRank> steps{};
  for (bool more = true; more;) {
    std::ranges::copy(from.subspan(offset_in(from_region, steps), run),
                      to.begin() + static_cast<std::ptrdiff_t>(offset_in(to_region, steps)));
    more = false;
    for (std::size_t axis = outer; axis > 0 && !more; --axis) {
      more = ++steps[axis - 1] < length(*shared, axis - 1);
      if (!more) steps[axis - 1] = 0;
    }
  }
}

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/bundle/impl/tensor_slice.ipp>
#endif
