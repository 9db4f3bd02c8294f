// SPDX-License-Identifier: Apache-2.0
/// @file
/// The buckets of TensorFlow's histograms.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// The limits of all buckets, and a look-up of a value's bucket without a search.
///
/// Each positive limit is a tenth larger than the one before. The positive doubles that share the exponent and the
/// first four bits of the mantissa span a factor of at most 17/16, so at most one limit lies among them. A table has
/// the number of limits below each such slice; one comparison does the rest.
class BucketTable {
 public:
  static constexpr std::size_t kPositive = 775;
  static constexpr std::size_t kLimits = 2 * kPositive + 1;

  TRAINHOOK_DECL BucketTable();

  [[nodiscard]] std::span<const double> limits() const noexcept { return limits_; }

  /// The index of the first limit above `value`, or of the last limit for the largest double.
  [[nodiscard]] TRAINHOOK_DECL std::size_t bucket_of(double value) const noexcept;

 private:
  static constexpr int kSliceShift = 48;  // keeps four bits of the mantissa
  static constexpr std::uint64_t kFirstSlice = std::bit_cast<std::uint64_t>(0x1p-40) >> kSliceShift;  // below 1e-12
  static constexpr std::uint64_t kSlices =
      (std::bit_cast<std::uint64_t>(0x1p67) >> kSliceShift) - kFirstSlice;  // past 1e20

  std::array<double, kPositive> positive_{};
  std::array<double, kLimits> limits_{};
  std::array<std::uint16_t, kSlices> below_slice_{};
};

[[nodiscard]] TRAINHOOK_DECL const BucketTable& bucket_table();

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/events/impl/histogram_buckets.ipp>
#endif
