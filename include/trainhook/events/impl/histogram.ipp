// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/events/histogram.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <trainhook/core/error.hpp>

namespace trainhook::detail {

/// @throws InvalidArgumentError, naming `tag`, if the elements are not real numbers.
inline void expect_countable(std::string_view tag, const Tensor& tensor) {
  if (!is_real(tensor.dtype()))
    throw InvalidArgumentError("histogram {} cannot count {} elements; give it real numbers", tag, tensor.dtype());
}

HistogramSource histogram_source(std::string_view tag, const Tensor& tensor) {
  expect_countable(tag, tensor);
  return {&tensor, static_cast<std::size_t>(tensor.num_elements()),
          [](const void* from, std::size_t first, std::span<double> to) {
            read_doubles(*static_cast<const Tensor*>(from), first, to);
          }};
}

float first_as_float(std::string_view tag, const Tensor& tensor) {
  expect_countable(tag, tensor);
  return visit_real(tensor, [](auto values) { return real_as<float>(values[0]); });
}

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

/// Keeps buckets that count something; a run of empty ones becomes one entry with the run's last limit.
inline void collapse_buckets(std::span<const double> limits, std::span<const std::uint64_t> counts,
                             Histogram& histogram) {
  for (std::size_t i = 0; i < counts.size();) {
    std::size_t last = i;
    if (counts[i] == 0) {
      while (last + 1 < counts.size() && counts[last + 1] == 0) ++last;
    }
    histogram.bucket_limit.push_back(limits[last]);
    histogram.bucket.push_back(static_cast<double>(counts[i]));
    i = last + 1;
  }
}

void check_histogram_values(std::string_view tag, const HistogramSource& values) {
  constexpr std::uint64_t kExponent = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity());
  std::uint64_t found = 0;  // without branches: the compiler vectorizes it, and -ffast-math cannot remove it
  for_each_chunk(values, [&](std::span<const double> chunk) {
    for (const double value : chunk)
      found |= static_cast<std::uint64_t>((std::bit_cast<std::uint64_t>(value) & kExponent) == kExponent);
  });
  if (found != 0) {
    throw InvalidArgumentError(
        "Nan in summary histogram for: {} (a value is NaN or infinite; watch it with NanTensorHook)", tag);
  }
}

void check_histogram_values(std::string_view tag, const Tensor& tensor) {
  check_histogram_values(tag, histogram_source(tag, tensor));
}

Histogram histogram_of(std::string_view tag, const HistogramSource& values) {
  check_histogram_values(tag, values);
  Histogram histogram;
  std::array<std::uint64_t, BucketTable::kLimits> counts{};
  const BucketTable& table = bucket_table();
  for_each_chunk(values, [&](std::span<const double> chunk) {
    for (const double value : chunk) {
      ++counts[table.bucket_of(value)];
      histogram.min = (std::min)(histogram.min, value);
      histogram.max = (std::max)(histogram.max, value);
      histogram.sum += value;
      histogram.sum_squares += value * value;
    }
  });
  histogram.num = static_cast<double>(values.count);
  collapse_buckets(table.limits(), counts, histogram);
  return histogram;
}

std::span<const double> histogram_bucket_limits() { return bucket_table().limits(); }

}  // namespace trainhook::detail

namespace trainhook {

Histogram histogram_of(std::string_view tag, const Tensor& tensor) {
  return detail::histogram_of(tag, detail::histogram_source(tag, tensor));
}

}  // namespace trainhook
