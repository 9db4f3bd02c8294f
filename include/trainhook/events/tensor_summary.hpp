// SPDX-License-Identifier: Apache-2.0
/// @file
/// Summaries in TensorFlow 2's encoding: tensors, with the name of the dashboard that shows them. TensorBoard shows
/// them like those of `summary.hpp`, which are smaller. For texts there is only `summary.hpp`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/events/histogram_source.hpp>
#include <trainhook/events/summary.hpp>

namespace trainhook {

namespace detail {

[[nodiscard]] TRAINHOOK_DECL std::string histogram_tensor_summary(std::string_view tag, const HistogramSource& values);

}  // namespace detail

/// One number. Source: `tf.summary.scalar` of TensorFlow 2.
[[nodiscard]] TRAINHOOK_DECL std::string scalar_tensor_summary(std::string_view tag, float value);

/// Counts `values` into 30 buckets of equal width. Source: `tf.summary.histogram` of TensorFlow 2.
/// @throws InvalidArgumentError, naming `tag`, if a value is NaN or infinite.
template <HistogramElement T>
[[nodiscard]] std::string histogram_tensor_summary(std::string_view tag, std::span<const T> values) {
  return detail::histogram_tensor_summary(tag, detail::histogram_source(values));
}

/// Images of one size under one tag; `channels` is not written. Source: `tf.summary.image` of TensorFlow 2.
/// @throws InvalidArgumentError, naming `tag`, if there is no image, or their sizes differ.
[[nodiscard]] TRAINHOOK_DECL std::string image_tensor_summary(std::string_view tag,
                                                              std::span<const EncodedImage> images);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/events/impl/tensor_summary.ipp>
#endif
