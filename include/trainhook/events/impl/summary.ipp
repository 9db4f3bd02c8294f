// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/events/summary.hpp>

#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/utf8.hpp>
#include <trainhook/events/summary_message.hpp>

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

}  // namespace trainhook
