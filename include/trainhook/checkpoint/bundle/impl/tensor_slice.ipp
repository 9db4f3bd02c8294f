// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/bundle/tensor_slice.hpp>

#include <charconv>
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
      throw InvalidArgumentError("slice \"{}\" of a tensor of shape {} ends at {} in dimension {}, which has {}", *this,
                                 full, extent.start + extent.length, axis, full[axis]);
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

Regions::Regions(std::vector<TensorSlice> regions) : regions_(std::move(regions)) {
  const auto count_different = [](const Starts& sorted) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i)
      if (i == 0 || sorted[i].first != sorted[i - 1].first) ++count;
    return count;
  };
  const std::size_t rank = regions_.empty() ? 0 : regions_[0].rank();
  for (std::size_t axis = 0; axis < rank; ++axis) {
    Starts starts = starts_along(axis);
    if (count_different(starts) <= count_different(starts_)) continue;
    starts_ = std::move(starts);
    axis_ = axis;
  }
  if (rank == 0) starts_ = starts_along(0);
  for (const TensorSlice& region : regions_) longest_ = (std::max)(longest_, region[axis_].length);
}

Regions::Starts Regions::starts_along(std::size_t axis) const {
  Starts starts;
  for (std::size_t i = 0; i < regions_.size(); ++i) starts.emplace_back(regions_[i][axis].start, i);
  std::ranges::sort(starts);
  return starts;
}

std::optional<std::pair<std::size_t, std::size_t>> Regions::find_overlap() const {
  for (const auto& [start, next] : starts_) {
    const std::vector<std::size_t> found = meeting(regions_[next]);  // itself, after those that begin before it
    if (found.front() != next) return std::pair(found.front(), next);
  }
  return std::nullopt;
}

std::vector<std::size_t> Regions::meeting(const TensorSlice& region) const {
  std::vector<std::size_t> found;
  const std::int64_t begin = region[axis_].start;
  const std::int64_t end = begin + (std::max)(region[axis_].length, std::int64_t{1});  // a scalar has no length
  for (auto at = std::ranges::upper_bound(starts_, begin - longest_, {}, &Starts::value_type::first);
       at != starts_.end() && at->first < end; ++at) {
    if (intersection(regions_[at->second], region)) found.push_back(at->second);
  }
  return found;
}

}  // namespace trainhook::detail
