// SPDX-License-Identifier: Apache-2.0
/// @file
/// Histogram: TensorFlow's exponential buckets, counted in time proportional to the number of values. HistogramSource:
/// the numbers that it counts, from spans and tensors of any number type.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/real_numbers.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook {

/// A number type that a histogram can count.
template <class T>
concept HistogramElement = (std::is_arithmetic_v<T> && !std::is_same_v<T, long double>) || detail::StoredFloat<T>;

namespace detail {

/// A view of numbers of any type, as doubles.
struct HistogramSource {
  const void* values = nullptr;
  std::size_t count = 0;
  void (*widen)(const void* values, std::size_t first, std::span<double> to) = nullptr;
};

template <HistogramElement T>
[[nodiscard]] HistogramSource histogram_source(std::span<const T> values) {
  return {values.data(), values.size(), [](const void* from, std::size_t first, std::span<double> to) {
            const T* const next = static_cast<const T*>(from) + first;
            for (std::size_t i = 0; i < to.size(); ++i) to[i] = real_as<double>(next[i]);
          }};
}

/// The elements of a tensor, which outlives the result. @throws InvalidArgumentError, naming `tag`, if they are not
/// real numbers.
[[nodiscard]] TRAINHOOK_DECL HistogramSource histogram_source(std::string_view tag, const Tensor& tensor);

/// The first element of a tensor of real numbers. @throws as `histogram_source`.
[[nodiscard]] TRAINHOOK_DECL float first_as_float(std::string_view tag, const Tensor& tensor);

/// Calls `action` with the values as spans of doubles, a few hundred at a time.
template <class Action>
void for_each_chunk(const HistogramSource& source, const Action& action) {
  std::array<double, 512> chunk;
  for (std::size_t first = 0; first < source.count; first += chunk.size()) {
    const std::size_t rest = source.count - first;
    const std::span<double> values = std::span(chunk).first(rest < chunk.size() ? rest : chunk.size());
    source.widen(source.values, first, values);
    action(std::span<const double>(values));
  }
}

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

}  // namespace detail

/// A counted histogram, TensorFlow's `HistogramProto`. `bucket[i]` counts the values in [`bucket_limit[i - 1]`,
/// `bucket_limit[i]`).
struct Histogram {
  double min = (std::numeric_limits<double>::max)();
  double max = std::numeric_limits<double>::lowest();
  double num = 0;  ///< the number of values
  double sum = 0;
  double sum_squares = 0;
  std::vector<double> bucket_limit{};
  std::vector<double> bucket{};

  friend bool operator==(const Histogram&, const Histogram&) = default;
};

namespace detail {

[[nodiscard]] TRAINHOOK_DECL Histogram histogram_of(std::string_view tag, const HistogramSource& values);

/// Checks the values without counting them. @throws as `histogram_of`.
TRAINHOOK_DECL void check_histogram_values(std::string_view tag, const HistogramSource& values);
template <HistogramElement T>
void check_histogram_values(std::string_view tag, std::span<const T> values) {
  if constexpr (!std::is_integral_v<T>) check_histogram_values(tag, histogram_source(values));
}
TRAINHOOK_DECL void check_histogram_values(std::string_view tag, const Tensor& tensor);

/// The limits between buckets: 1551 of them, from the lowest double through zero to the largest. Each is a tenth larger
/// in magnitude than its neighbour nearer to zero.
[[nodiscard]] TRAINHOOK_DECL std::span<const double> histogram_bucket_limits();

}  // namespace detail

/// Counts `values` into TensorFlow's buckets. Without values, the histogram has one empty bucket.
/// @throws InvalidArgumentError, naming `tag`, if a value is NaN or infinite.
template <HistogramElement T>
[[nodiscard]] Histogram histogram_of(std::string_view tag, std::span<const T> values) {
  return detail::histogram_of(tag, detail::histogram_source(values));
}

/// Counts the elements of a tensor.
/// @throws InvalidArgumentError, naming `tag`, if its dtype is not real, or an element is NaN or infinite.
[[nodiscard]] TRAINHOOK_DECL Histogram histogram_of(std::string_view tag, const Tensor& tensor);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/events/impl/histogram.ipp>
#endif
