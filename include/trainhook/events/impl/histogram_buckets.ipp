// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of histogram_buckets.hpp.
#pragma once

#include <trainhook/events/histogram_buckets.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace trainhook::detail {

BucketTable::BucketTable() {
  std::size_t count = 0;
  for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive_[count++] = limit;
  positive_[count] = (std::numeric_limits<double>::max)();
  for (std::size_t i = 0; i < kPositive; ++i) {
    limits_[i] = -positive_[kPositive - 1 - i];
    limits_[kPositive + 1 + i] = positive_[i];
  }
  std::size_t below = 0;
  for (std::size_t slice = 0; slice < kSlices; ++slice) {
    const double start = slice == 0 ? 0.0 : std::bit_cast<double>((kFirstSlice + slice) << kSliceShift);
    while (positive_[below] < start) ++below;
    below_slice_[slice] = static_cast<std::uint16_t>(below);
  }
}

std::size_t BucketTable::bucket_of(double value) const noexcept {
  const double magnitude = std::fabs(value);
  const std::uint64_t slice =
      std::clamp(std::bit_cast<std::uint64_t>(magnitude) >> kSliceShift, kFirstSlice, kFirstSlice + kSlices - 1);
  const std::size_t below = below_slice_[slice - kFirstSlice];
  const double limit = positive_[below];
  if (value < 0) return kPositive - below - (limit < magnitude ? 1 : 0);
  return (std::min)(kPositive + 1 + below + (limit <= magnitude ? 1 : 0), kLimits - 1);
}

const BucketTable& bucket_table() {
  static const BucketTable table;
  return table;
}

}  // namespace trainhook::detail
