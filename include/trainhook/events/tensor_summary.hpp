// SPDX-License-Identifier: Apache-2.0
/// @file
/// Summaries as TensorFlow 2 writes them: tensors, with the name of the dashboard that shows them. TensorBoard shows
/// them as those of `summary.hpp`, which take less room. A text has no other encoding than there.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/events/histogram.hpp>
#include <trainhook/events/summary.hpp>
#include <trainhook/io/coding.hpp>
#include <trainhook/proto/tensor_shape_proto.hpp>
#include <trainhook/proto/wire.hpp>

namespace trainhook {
namespace detail {

inline constexpr std::size_t kTensorHistogramBuckets = 30;

/// Adds one value: a tensor of these dims, what it holds by `fill`, and the plugin.
template <class Fill>
std::string tensor_summary(std::string_view tag, std::string_view plugin, DType dtype,
                           std::span<const std::int64_t> dims, const Fill& fill) {
  return summary_of([&](WireWriter& summary) {
    WireWriter value = open_value(summary, tag);
    add_wire_message(value, SummaryValueField::kTensor, [&](WireWriter& tensor) {
      tensor.add_enum(TensorProtoField::kDType, static_cast<std::int32_t>(dtype));
      add_wire_message(tensor, TensorProtoField::kShape, [&](WireWriter& shape) { add_shape_dims(shape, dims); });
      fill(tensor);
    });
    add_plugin(value, plugin);
  });
}

/// Rows of left limit, right limit and count: 30 buckets of one width from the least value to the greatest.
template <HistogramElement T>
std::vector<double> histogram_rows(std::span<const T> values) {
  std::vector<double> rows(3 * kTensorHistogramBuckets);
  if (values.empty()) return rows;
  const auto [least, greatest] = std::ranges::minmax(values);
  const double low = static_cast<double>(least) / 2;  // halves: the distance of two large numbers may be no number
  const double high = static_cast<double>(greatest) / 2;
  constexpr double kBuckets = static_cast<double>(kTensorHistogramBuckets);
  const double width = (high - low) / kBuckets;
  for (std::size_t i = 0; i < kTensorHistogramBuckets; ++i) {
    rows[3 * i] = 2 * (low + static_cast<double>(i) * width);
    rows[3 * i + 1] = 2 * (i + 1 < kTensorHistogramBuckets ? low + static_cast<double>(i + 1) * width : high);
  }
  for (const T value : values) {  // all in the last bucket where they are equal
    const double place = width > 0 ? std::floor((static_cast<double>(value) / 2 - low) / width) : kBuckets;
    const std::size_t bucket = place < kBuckets ? static_cast<std::size_t>(place) : kTensorHistogramBuckets - 1;
    rows[3 * bucket + 2] += 1;
  }
  return rows;
}

}  // namespace detail

/// One number. Source: `tf.summary.scalar` of TensorFlow 2.
[[nodiscard]] TRAINHOOK_DECL std::string scalar_tensor_summary(std::string_view tag, float value);

/// Counts `values` into 30 buckets of one width. Source: `tf.summary.histogram` of TensorFlow 2.
/// @throws InvalidArgumentError naming `tag` where a value is NaN or infinite.
template <HistogramElement T>
[[nodiscard]] std::string histogram_tensor_summary(std::string_view tag, std::span<const T> values) {
  check_histogram_values(tag, values);
  const std::int64_t dims[] = {static_cast<std::int64_t>(detail::kTensorHistogramBuckets), 3};
  return detail::tensor_summary(tag, "histograms", DType::Double, dims, [&](WireWriter& tensor) {
    std::string content;
    for (const double number : detail::histogram_rows(values))
      detail::append_fixed64(content, std::bit_cast<std::uint64_t>(number));
    tensor.add_bytes(detail::TensorProtoField::kTensorContent, content);
  });
}

/// Images of one size under one tag; `channels` is not written. Source: `tf.summary.image` of TensorFlow 2.
/// @throws InvalidArgumentError naming `tag` where there is none, or their sizes differ.
[[nodiscard]] TRAINHOOK_DECL std::string image_tensor_summary(std::string_view tag,
                                                              std::span<const EncodedImage> images);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/events/impl/tensor_summary.ipp>
#endif
