// SPDX-License-Identifier: Apache-2.0
/// @file
/// Histogram: TensorFlow's exponential buckets over a span of numbers, in time proportional to the values.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook {

/// A number type that a histogram can count.
template <class T>
concept HistogramElement = std::is_arithmetic_v<T> && !std::is_same_v<T, long double>;

/// What `HistogramProto` holds. `bucket[i]` counts the values below `bucket_limit[i]` and not below the limit before
/// it.
struct Histogram {
  double min = std::numeric_limits<double>::max();
  double max = std::numeric_limits<double>::lowest();
  double num = 0;
  double sum = 0;
  double sum_squares = 0;
  std::vector<double> bucket_limit{};
  std::vector<double> bucket{};

  friend bool operator==(const Histogram&, const Histogram&) = default;
};

namespace detail {

/// The limits of all buckets, and the way from a value to its bucket without a search.
///
/// The positive limits grow by a tenth each. A slice of the positive doubles that share exponent and first four bits of
/// the mantissa spans a factor of at most 17/16, so that it holds at most one limit: a table tells how many limits lie
/// below the slice, one comparison settles the rest.
class BucketTable {
 public:
  static constexpr std::size_t kPositive = 775;
  static constexpr std::size_t kLimits = 2 * kPositive + 1;

  TRAINHOOK_DECL BucketTable();

  [[nodiscard]] std::span<const double> limits() const noexcept { return limits_; }

  /// The index of the first limit above `value`; the last one for the largest double, above which there is none.
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

inline const BucketTable& bucket_table() {
  static const BucketTable table;
  return table;
}

/// Keeps buckets that count something; a run of empty ones becomes one entry with the run's last limit.
TRAINHOOK_DECL void collapse_buckets(std::span<const double> limits, std::span<const std::uint64_t> counts,
                                     Histogram& histogram);

}  // namespace detail

/// The limits between buckets: 1551 of them, from the lowest double over zero to the largest, each a tenth larger than
/// the last.
[[nodiscard]] inline std::span<const double> histogram_bucket_limits() { return detail::bucket_table().limits(); }

/// @throws InvalidArgumentError naming `tag` where one of `values` is NaN or infinite: such a value has no bucket.
template <HistogramElement T>
void check_histogram_values([[maybe_unused]] std::string_view tag, [[maybe_unused]] std::span<const T> values) {
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    constexpr Bits kExponent = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
    Bits found = 0;  // without branches: the compiler makes vectors of it, and -ffast-math cannot remove it
    for (const T value : values) found |= static_cast<Bits>((std::bit_cast<Bits>(value) & kExponent) == kExponent);
    if (found != 0) {
      throw InvalidArgumentError(
          "Nan in summary histogram for: {} (a value is NaN or infinite; watch it with NanTensorHook)", tag);
    }
  }
}

/// Counts `values` into TensorFlow's buckets; of none at all, one bucket that counts nothing.
/// @throws InvalidArgumentError naming `tag` where a value is NaN or infinite.
template <HistogramElement T>
[[nodiscard]] Histogram histogram_of(std::string_view tag, std::span<const T> values) {
  check_histogram_values(tag, values);
  Histogram histogram;
  std::array<std::uint64_t, detail::BucketTable::kLimits> counts{};
  const detail::BucketTable& table = detail::bucket_table();
  for (const T element : values) {
    const double value = static_cast<double>(element);
    ++counts[table.bucket_of(value)];
    histogram.min = (std::min)(histogram.min, value);
    histogram.max = (std::max)(histogram.max, value);
    histogram.sum += value;
    histogram.sum_squares += value * value;
  }
  histogram.num = static_cast<double>(values.size());
  detail::collapse_buckets(table.limits(), counts, histogram);
  return histogram;
}

namespace detail {

/// Calls `visit` with the elements of `tensor` as a span. @throws InvalidArgumentError naming `tag` for a dtype that is
/// no number.
template <class Visit>
auto visit_histogram_values(std::string_view tag, const Tensor& tensor, const Visit& visit) {
  switch (tensor.dtype()) {
    case DType::Float: return visit(tensor.data<float>());
    case DType::Double: return visit(tensor.data<double>());
    case DType::Int32: return visit(tensor.data<std::int32_t>());
    case DType::Int64: return visit(tensor.data<std::int64_t>());
    case DType::Int16: return visit(tensor.data<std::int16_t>());
    case DType::Int8: return visit(tensor.data<std::int8_t>());
    case DType::UInt8: return visit(tensor.data<std::uint8_t>());
    case DType::UInt16: return visit(tensor.data<std::uint16_t>());
    case DType::UInt32: return visit(tensor.data<std::uint32_t>());
    case DType::UInt64: return visit(tensor.data<std::uint64_t>());
    default:
      throw InvalidArgumentError("histogram {} cannot count {} elements: give it real numbers", tag, tensor.dtype());
  }
}

}  // namespace detail

/// Counts the elements of a tensor. @throws InvalidArgumentError where it does not hold real numbers, or one is NaN or
/// infinite.
[[nodiscard]] TRAINHOOK_DECL Histogram histogram_of(std::string_view tag, const Tensor& tensor);

/// Only checks. @throws as `histogram_of` would.
TRAINHOOK_DECL void check_histogram_values(std::string_view tag, const Tensor& tensor);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/events/impl/histogram.ipp>
#endif
