// SPDX-License-Identifier: Apache-2.0
/// @file
/// TensorSlice: a region of a tensor, as a checkpoint stores the pieces of a partitioned variable.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>

namespace trainhook {

/// For each dimension of a tensor where the region begins and how long it is, or all of the dimension: `TensorSlice{{3, 2}, {}}` is rows 3
/// and 4 of a matrix. Equality is of what was written, which also decides the key in a checkpoint: all of a dimension of 5 is not 0,5.
/// Source: TensorFlow's `TensorSlice`.
class TensorSlice {
 public:
  static constexpr std::int64_t kFull = -1;

  struct Extent {
    std::int64_t start = 0;
    std::int64_t length = kFull;

    [[nodiscard]] bool is_full() const noexcept { return length == kFull; }
    friend bool operator==(const Extent&, const Extent&) = default;
  };

  /// Of a scalar.
  TensorSlice() noexcept = default;

  /// @throws InvalidArgumentError for a negative start, a length that is neither positive nor `kFull`, or more than `kMaxRank` dimensions.
  TensorSlice(std::initializer_list<Extent> extents) : TensorSlice(std::span(extents.begin(), extents.size())) {}
  explicit TensorSlice(std::span<const Extent> extents) : rank_(extents.size()) {
    if (rank_ > kMaxRank) throw InvalidArgumentError("a slice has at most ", kMaxRank, " dimensions, not ", rank_);
    for (const Extent& extent : extents) {
      std::int64_t end = 0;
      const bool possible = extent.is_full() ? extent.start == 0 : extent.start >= 0 && extent.length > 0;
      if (!possible || __builtin_add_overflow(extent.start, extent.length, &end)) {
        throw InvalidArgumentError("a slice cannot begin at ", extent.start, " and have length ", extent.length,
                                   "; give a start from 0 and a positive length, or all of the dimension");
      }
    }
    std::ranges::copy(extents, extents_.begin());
  }

  /// All of a tensor of so many dimensions.
  [[nodiscard]] static TensorSlice all_of(std::size_t rank) { return TensorSlice(std::vector<Extent>(rank)); }

  /// From TensorFlow's text: `3,2:-` is start 3 and length 2 in the first dimension, all of the second. Empty: of a scalar.
  /// @throws InvalidArgumentError for any other text.
  [[nodiscard]] static TensorSlice parse(std::string_view text) {
    std::vector<Extent> extents;
    for (std::string_view rest = text; !text.empty();) {
      const std::size_t colon = rest.find(':');
      const std::optional<Extent> extent = parse_extent(rest.substr(0, colon));
      if (!extent || extents.size() == kMaxRank) {
        throw InvalidArgumentError("\"", text, "\" is no slice of a tensor; for each dimension write start,length or -, as in 3,2:-");
      }
      extents.push_back(*extent);
      if (colon == std::string_view::npos) break;
      rest.remove_prefix(colon + 1);
    }
    return TensorSlice(extents);
  }

  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] const Extent& operator[](std::size_t axis) const noexcept { return extents_[axis]; }
  [[nodiscard]] std::span<const Extent> extents() const noexcept { return {extents_.data(), rank_}; }

  /// The same region of a tensor of shape `full`, with a start and a length in every dimension.
  /// @throws InvalidArgumentError where it has another rank or reaches past the tensor.
  [[nodiscard]] TensorSlice within(const Shape& full) const {
    if (rank_ != full.rank()) {
      throw InvalidArgumentError("slice \"", *this, "\" has ", rank_, " dimensions; a tensor of shape ", full, " needs ", full.rank());
    }
    TensorSlice result = *this;
    for (std::size_t axis = 0; axis < rank_; ++axis) {
      Extent& extent = result.extents_[axis];
      if (extent.is_full()) extent.length = full[axis];
      if (extent.start + extent.length > full[axis]) {
        throw InvalidArgumentError("slice \"", *this, "\" reaches past a tensor of shape ", full);
      }
    }
    return result;
  }

  /// The shape of the region in a tensor of shape `full`. @throws as `within`.
  [[nodiscard]] Shape shape_in(const Shape& full) const {
    const TensorSlice region = within(full);
    std::array<std::int64_t, kMaxRank> dims{};
    std::ranges::transform(region.extents(), dims.begin(), &Extent::length);
    return Shape(std::span<const std::int64_t>(dims).first(rank_));
  }

  /// TensorFlow's text, which `parse` reads.
  [[nodiscard]] std::string to_string() const {
    std::string text;
    for (std::size_t axis = 0; axis < rank_; ++axis) {
      if (axis > 0) text += ':';
      text += extents_[axis].is_full() ? std::string("-") : str_cat(extents_[axis].start, ",", extents_[axis].length);
    }
    return text;
  }

  friend bool operator==(const TensorSlice& a, const TensorSlice& b) noexcept { return std::ranges::equal(a.extents(), b.extents()); }

 private:
  [[nodiscard]] static std::optional<Extent> parse_extent(std::string_view text) {
    if (text == "-") return Extent{};
    Extent extent{.start = -1, .length = 0};
    const char* const end = text.data() + text.size();
    const auto [comma, bad_start] = std::from_chars(text.data(), end, extent.start);
    if (bad_start != std::errc{} || comma == end || *comma != ',') return std::nullopt;
    const auto [last, bad_length] = std::from_chars(comma + 1, end, extent.length);
    if (bad_length != std::errc{} || last != end || extent.start < 0 || extent.length <= 0) return std::nullopt;
    return extent;
  }

  std::array<Extent, kMaxRank> extents_{};
  std::size_t rank_ = 0;
};

namespace detail {

/// What two regions of one tensor (as `within` gives them) share; nothing where they share no element.
[[nodiscard]] inline std::optional<TensorSlice> intersection(const TensorSlice& a, const TensorSlice& b) {
  std::array<TensorSlice::Extent, kMaxRank> shared{};
  for (std::size_t axis = 0; axis < a.rank(); ++axis) {
    const std::int64_t start = (std::max)(a[axis].start, b[axis].start);
    const std::int64_t end = (std::min)(a[axis].start + a[axis].length, b[axis].start + b[axis].length);
    if (start >= end) return std::nullopt;
    shared[axis] = {start, end - start};
  }
  return TensorSlice(std::span<const TensorSlice::Extent>(shared).first(a.rank()));
}

/// Two of the regions of one tensor (as `within` gives them) that share an element; nothing where no two do.
[[nodiscard]] inline std::optional<std::pair<std::size_t, std::size_t>> find_overlap(std::span<const TensorSlice> regions) {
  if (regions.empty()) return std::nullopt;
  // Swept along the axis with the most different starts, few regions are open at a time: regions that share no element begin in different
  // places.
  const auto starts_along = [&](std::size_t axis) {
    std::vector<std::int64_t> starts;
    for (const TensorSlice& region : regions) starts.push_back(region[axis].start);
    std::ranges::sort(starts);
    return std::unique(starts.begin(), starts.end()) - starts.begin();
  };
  std::size_t swept = 0;
  for (std::size_t axis = 1; axis < regions[0].rank(); ++axis) {
    if (starts_along(axis) > starts_along(swept)) swept = axis;
  }
  std::vector<std::size_t> order(regions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return regions[i][swept].start; });
  std::vector<std::size_t> open;
  for (const std::size_t next : order) {
    const std::int64_t start = regions[next][swept].start;
    std::erase_if(open,
                  [&](std::size_t i) { return regions[i].rank() > 0 && regions[i][swept].start + regions[i][swept].length <= start; });
    for (const std::size_t other : open) {
      if (intersection(regions[other], regions[next])) return std::pair(other, next);
    }
    open.push_back(next);
  }
  return std::nullopt;
}

/// Copies the elements that two regions of one tensor share from one to the other. Both lie row-major in memory, an element in `units`
/// items.
template <class Item>
void copy_shared(std::span<const Item> from, const TensorSlice& from_region, std::span<Item> to, const TensorSlice& to_region,
                 std::size_t units) {
  const std::optional<TensorSlice> shared = intersection(from_region, to_region);
  if (!shared) return;
  const auto length = [](const TensorSlice& region, std::size_t axis) { return static_cast<std::size_t>(region[axis].length); };
  std::size_t outer = shared->rank();  // the dimensions before this one are walked; what lies behind is one piece in both
  std::size_t run = units;
  while (outer > 0) {
    run *= length(*shared, --outer);
    if ((*shared)[outer].length != from_region[outer].length || (*shared)[outer].length != to_region[outer].length) break;
  }
  const auto offset_in = [&](const TensorSlice& region, std::span<const std::size_t> steps) {
    std::size_t offset = 0;
    for (std::size_t axis = 0; axis < region.rank(); ++axis) {
      offset = offset * length(region, axis) + static_cast<std::size_t>((*shared)[axis].start - region[axis].start) + steps[axis];
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
