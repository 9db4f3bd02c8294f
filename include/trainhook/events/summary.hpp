// SPDX-License-Identifier: Apache-2.0
/// @file
/// Summary messages as bytes: scalars, histograms, images, audio and texts for TensorBoard; and in TensorFlow 2's
/// encoding, as tensors with the name of the dashboard that shows them. TensorBoard shows both alike; the former are
/// smaller.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/events/histogram.hpp>

namespace trainhook {

/// An image that is already encoded. `channels` is 1 (gray), 2 (gray and alpha), 3 (RGB) or 4 (RGBA).
struct EncodedImage {
  std::int32_t height{};
  std::int32_t width{};
  std::int32_t channels{};
  std::string_view bytes{};  ///< PNG, or any other format that browsers show
};

/// A piece of audio that is already encoded.
struct EncodedAudio {
  float sample_rate{};        ///< frames per second
  std::int64_t channels = 1;  ///< samples per frame
  std::int64_t frames{};      ///< the number of frames
  std::string_view bytes{};   ///< in the format that `content_type` names
  std::string_view content_type = "audio/wav";
};

// A `Summary` is passed as its serialized message; concatenating the bytes of two joins them.

/// One number, for the Scalars dashboard.
[[nodiscard]] TRAINHOOK_DECL std::string scalar_summary(std::string_view tag, float value);

/// A histogram, for the Histograms and Distributions dashboards.
[[nodiscard]] TRAINHOOK_DECL std::string histogram_summary(std::string_view tag, const Histogram& histogram);

/// Counts `values` and writes the histogram. @throws InvalidArgumentError, naming `tag`, if a value is NaN or infinite.
template <HistogramElement T>
[[nodiscard]] std::string histogram_summary(std::string_view tag, std::span<const T> values) {
  return histogram_summary(tag, histogram_of(tag, values));
}

/// One image, for the Images dashboard. TensorFlow uses the tag `<tag>/image` for a single image and `<tag>/image/<i>`
/// for the i-th of several.
[[nodiscard]] TRAINHOOK_DECL std::string image_summary(std::string_view tag, const EncodedImage& image);

/// One piece of audio, for the Audio dashboard. TensorFlow uses the tag `<tag>/audio` for a single piece and
/// `<tag>/audio/<i>` for the i-th of several.
[[nodiscard]] TRAINHOOK_DECL std::string audio_summary(std::string_view tag, const EncodedAudio& audio);

/// A text in Markdown, for the Text dashboard.
[[nodiscard]] TRAINHOOK_DECL std::string text_summary(std::string_view tag, std::string_view markdown);

namespace detail {

/// Texts for the Text dashboard, which shows several as a table.
[[nodiscard]] TRAINHOOK_DECL std::string texts_summary(std::string_view tag, const Tensor& texts);

[[nodiscard]] TRAINHOOK_DECL std::string histogram_tensor_summary(std::string_view tag, const HistogramSource& values);

}  // namespace detail

/// Joins the values of all summaries, in order.
[[nodiscard]] TRAINHOOK_DECL std::string merge_summaries(std::span<const std::string> summaries);

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
#include <trainhook/events/impl/summary.ipp>
#endif
