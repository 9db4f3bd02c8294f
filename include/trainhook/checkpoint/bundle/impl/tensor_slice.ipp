// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of tensor_slice.hpp.
#pragma once

#include <trainhook/checkpoint/bundle/tensor_slice.hpp>

#include <charconv>
#include <numeric>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>

namespace trainhook {

TensorSlice::TensorSlice(std::initializer_list<Extent> extents)
    : TensorSlice(std::span(extents.begin(), extents.size())) {}

TensorSlice::TensorSlice(std::span<const Extent> extents) : rank_(extents.size()) {
  if (rank_ > kMaxRank) throw InvalidArgumentError("a slice has at most {} dimensions, not {}", kMaxRank, rank_);
  for (const Extent& extent : extents) {
    std::int64_t end = 0;
    const bool possible = extent.is_full() ? extent.start == 0 : extent.start >= 0 && extent.length > 0;
    if (!possible || __builtin_add_overflow(extent.start, extent.length, &end)) {
      throw InvalidArgumentError(
          "a slice cannot begin at {} and have length {}; "
          "give a start from 0 and a positive length, or all of the dimension",
          extent.start, extent.length);
    }
  }
  std::ranges::copy(extents, extents_.begin());
}

TensorSlice TensorSlice::all_of(std::size_t rank) { return TensorSlice(std::vector<Extent>(rank)); }

TensorSlice TensorSlice::parse(std::string_view text) {
  std::vector<Extent> extents;
  for (std::string_view rest = text; !text.empty();) {
    const std::size_t colon = rest.find(':');
    const std::optional<Extent> extent = parse_extent(rest.substr(0, colon));
    if (!extent || extents.size() == kMaxRank) {
      throw InvalidArgumentError(
          "\"{}\" is not a slice of a tensor; for each dimension write start,length or -, as in 3,2:-", text);
    }
    extents.push_back(*extent);
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  return TensorSlice(extents);
}

TensorSlice TensorSlice::within(const Shape& full) const {
  if (rank_ != full.rank()) {
    throw InvalidArgumentError("slice \"{}\" has {} dimensions; a tensor of shape {} needs {}", *this, rank_, full,
                               full.rank());
  }
  TensorSlice result = *this;
  for (std::size_t axis = 0; axis < rank_; ++axis) {
    Extent& extent = result.extents_[axis];
    if (extent.is_full()) extent.length = full[axis];
    if (extent.start + extent.length > full[axis]) {
      throw InvalidArgumentError("slice \"{}\" reaches past a tensor of shape {}", *this, full);
    }
  }
  return result;
}

Shape TensorSlice::shape_in(const Shape& full) const {
  const TensorSlice region = within(full);
  std::array<std::int64_t, kMaxRank> dims{};
  std::ranges::transform(region.extents(), dims.begin(), &Extent::length);
  return Shape(std::span<const std::int64_t>(dims).first(rank_));
}

std::string TensorSlice::to_string() const {
  std::string text;
  for (std::size_t axis = 0; axis < rank_; ++axis) {
    if (axis > 0) text += ':';
    text +=
        extents_[axis].is_full() ? std::string("-") : fmt::format("{},{}", extents_[axis].start, extents_[axis].length);
  }
  return text;
}

std::optional<TensorSlice::Extent> TensorSlice::parse_extent(std::string_view text) {
  if (text == "-") return Extent{};
  Extent extent{.start = -1, .length = 0};
  const char* const end = text.data() + text.size();
  const auto [comma, bad_start] = std::from_chars(text.data(), end, extent.start);
  if (bad_start != std::errc{} || comma == end || *comma != ',') return std::nullopt;
  const auto [last, bad_length] = std::from_chars(comma + 1, end, extent.length);
  if (bad_length != std::errc{} || last != end || extent.start < 0 || extent.length <= 0) return std::nullopt;
  return extent;
}

}  // namespace trainhook

namespace trainhook::detail {

std::optional<TensorSlice> intersection(const TensorSlice& a, const TensorSlice& b) {
  std::array<TensorSlice::Extent, kMaxRank> shared{};
  for (std::size_t axis = 0; axis < a.rank(); ++axis) {
    const std::int64_t start = (std::max)(a[axis].start, b[axis].start);
    const std::int64_t end = (std::min)(a[axis].start + a[axis].length, b[axis].start + b[axis].length);
    if (start >= end) return std::nullopt;
    shared[axis] = {start, end - start};
  }
  return TensorSlice(std::span<const TensorSlice::Extent>(shared).first(a.rank()));
}

std::optional<std::pair<std::size_t, std::size_t>> find_overlap(std::span<const TensorSlice> regions) {
  if (regions.empty()) return std::nullopt;
  // Swept along the axis with the most different starts, few regions are open at a time: regions that share no element
  // begin in different places.
  const auto count_starts = [&](std::size_t axis) {
    std::vector<std::int64_t> starts;
    for (const TensorSlice& region : regions) starts.push_back(region[axis].start);
    std::ranges::sort(starts);
    return std::unique(starts.begin(), starts.end()) - starts.begin();
  };
  std::size_t swept = 0;
  for (std::size_t axis = 1; axis < regions[0].rank(); ++axis) {
    if (count_starts(axis) > count_starts(swept)) swept = axis;
  }
  std::vector<std::size_t> order(regions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return regions[i][swept].start; });
  std::vector<std::size_t> open;
  for (const std::size_t next : order) {
    std::erase_if(open, [&](std::size_t i) {
      return regions[i].rank() > 0 && regions[i][swept].start + regions[i][swept].length <= regions[next][swept].start;
    });
    for (const std::size_t other : open) {
      if (intersection(regions[other], regions[next])) return std::pair(other, next);
    }
    open.push_back(next);
  }
  return std::nullopt;
}

}  // namespace trainhook::detail
