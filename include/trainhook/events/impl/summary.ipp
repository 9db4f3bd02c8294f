// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/events/summary.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/core/coding.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/utf8.hpp>
#include <trainhook/events/event_message.hpp>
#include <trainhook/events/histogram.hpp>

namespace trainhook::detail {

inline constexpr std::size_t kTensorHistogramBuckets = 30;

inline std::string tensor_summary(std::string_view tag, std::string_view plugin, TensorMessage tensor) {
  return summary_of({.tag = tag,
                     .tensor = std::move(tensor),
                     .metadata = SummaryMetadataMessage{.plugin_data = {.plugin_name = plugin}}});
}

/// Rows of left limit, right limit and count: 30 buckets of equal width from the least value to the greatest.
inline std::array<double, 3 * kTensorHistogramBuckets> histogram_rows(const HistogramSource& values) {
  std::array<double, 3 * kTensorHistogramBuckets> rows{};
  if (values.count == 0) return rows;
  double least = (std::numeric_limits<double>::max)();
  double greatest = std::numeric_limits<double>::lowest();
  for_each_chunk(values, [&](std::span<const double> chunk) {
    const auto [low, high] = std::ranges::minmax(chunk);
    least = (std::min)(least, low);
    greatest = (std::max)(greatest, high);
  });
  const double low = least / 2;  // halves: the distance of two large numbers may be infinite
  const double high = greatest / 2;
  constexpr double kBuckets = static_cast<double>(kTensorHistogramBuckets);
  const double width = (high - low) / kBuckets;
  // A quotient, because a compiler may fuse a product into the sum, and zero would not be zero any more.
  const auto edge = [&](std::size_t i) { return 2 * (low + (high - low) / (kBuckets / static_cast<double>(i))); };
  for (std::size_t i = 0; i < kTensorHistogramBuckets; ++i) {
    rows[3 * i] = edge(i);
    rows[3 * i + 1] = i + 1 < kTensorHistogramBuckets ? edge(i + 1) : 2 * high;
  }
  for_each_chunk(values, [&](std::span<const double> chunk) {
    for (const double value : chunk) {  // equal values are all in the last bucket
      const double place = width > 0 ? std::floor((value / 2 - low) / width) : kBuckets;
      const std::size_t bucket = place < kBuckets ? static_cast<std::size_t>(place) : kTensorHistogramBuckets - 1;
      rows[3 * bucket + 2] += 1;
    }
  });
  return rows;
}

std::string histogram_tensor_summary(std::string_view tag, const HistogramSource& values) {
  check_histogram_values(tag, values);
  std::string content;
  for (const double number : histogram_rows(values)) append_fixed(content, std::bit_cast<std::uint64_t>(number));
  const std::int64_t dims[] = {static_cast<std::int64_t>(kTensorHistogramBuckets), 3};
  return tensor_summary(tag, "histograms",
                        {.dtype = static_cast<std::uint64_t>(DType::Double),
                         .tensor_shape = shape_message(dims),
                         .tensor_content = content});
}

}  // namespace trainhook::detail

namespace trainhook {

std::string scalar_summary(std::string_view tag, float value) {
  return detail::summary_of({.tag = tag, .simple_value = value});
}

std::string histogram_summary(std::string_view tag, const Histogram& histogram) {
  if (histogram.bucket.size() != histogram.bucket_limit.size()) {
    throw InvalidArgumentError("histogram {} has {} buckets but {} limits", tag, histogram.bucket.size(),
                               histogram.bucket_limit.size());
  }
  return detail::summary_of({.tag = tag, .histo = histogram});
}

std::string image_summary(std::string_view tag, const EncodedImage& image) {
  return detail::summary_of({.tag = tag,
                             .image = detail::SummaryImageMessage{.height = image.height,
                                                                  .width = image.width,
                                                                  .colorspace = image.channels,
                                                                  .encoded_image_string = image.bytes}});
}

std::string audio_summary(std::string_view tag, const EncodedAudio& audio) {
  detail::expect_utf8(audio.content_type, "the content_type of audio");
  return detail::summary_of({.tag = tag,
                             .audio = detail::SummaryAudioMessage{.sample_rate = audio.sample_rate,
                                                                  .num_channels = audio.channels,
                                                                  .length_frames = audio.frames,
                                                                  .encoded_audio_string = audio.bytes,
                                                                  .content_type = audio.content_type}});
}

std::string text_summary(std::string_view tag, std::string_view markdown) {
  return detail::texts_summary(tag, Tensor(markdown));
}

std::string detail::texts_summary(std::string_view tag, const Tensor& texts) {
  std::vector<std::string> valid;
  for (const std::string& text : texts.data<std::string>())
    valid.push_back(utf8_text(text, fmt::format("the text of the summary '{}'", tag)));
  TensorMessage message{.dtype = static_cast<std::uint64_t>(DType::String)};
  message.string_val.assign(valid.begin(), valid.end());
  if (valid.size() != 1) message.tensor_shape = shape_message(texts.shape().dims());
  return summary_of({.tag = tag,
                     .tensor = std::move(message),
                     .metadata = SummaryMetadataMessage{.plugin_data = {.plugin_name = "text"}}});
}

std::string merge_summaries(std::span<const std::string> summaries) {
  std::size_t size = 0;
  for (const std::string& summary : summaries) size += summary.size();
  std::string merged;
  merged.reserve(size);
  for (const std::string& summary : summaries) merged += summary;
  return merged;
}

std::string scalar_tensor_summary(std::string_view tag, float value) {
  std::string content;
  detail::append_fixed(content, std::bit_cast<std::uint32_t>(value));
  return detail::tensor_summary(tag, "scalars",
                                {.dtype = static_cast<std::uint64_t>(DType::Float), .tensor_content = content});
}

std::string image_tensor_summary(std::string_view tag, std::span<const EncodedImage> images) {
  if (images.empty()) throw InvalidArgumentError("image summary {} has no image, so its size is unknown", tag);
  for (const EncodedImage& image : images) {
    if (image.height != images[0].height || image.width != images[0].width) {
      throw InvalidArgumentError(
          "image summary {}: an image of {} x {} pixels differs from the first, of {} x {}; give it another tag", tag,
          image.width, image.height, images[0].width, images[0].height);
    }
  }
  const std::int64_t dims[] = {static_cast<std::int64_t>(images.size()) + 2};
  const std::string width = fmt::format("{}", images[0].width);
  const std::string height = fmt::format("{}", images[0].height);
  detail::TensorMessage tensor{.dtype = static_cast<std::uint64_t>(DType::String),
                               .tensor_shape = detail::shape_message(dims),
                               .string_val = {width, height}};
  for (const EncodedImage& image : images) tensor.string_val.push_back(image.bytes);
  return detail::tensor_summary(tag, "images", std::move(tensor));
}

}  // namespace trainhook
