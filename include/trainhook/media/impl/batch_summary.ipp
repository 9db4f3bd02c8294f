// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/media/batch_summary.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/finite.hpp>
#include <trainhook/events/summary.hpp>
#include <trainhook/media/png.hpp>
#include <trainhook/media/wav.hpp>

namespace trainhook::detail {

void check_batch(std::string_view tag, const ImageBatch& batch) {
  constexpr std::int64_t kLargestSide = 1 << 20;  // so that no product overflows
  if (batch.channels != 1 && batch.channels != 3 && batch.channels != 4)
    throw InvalidArgumentError("image summary '{}': an image has 1, 3 or 4 channels, not {}", tag, batch.channels);
  if (batch.height < 1 || batch.width < 1 || batch.height > kLargestSide || batch.width > kLargestSide) {
    throw InvalidArgumentError("image summary '{}': height and width must be 1 to {}, not {} and {}", tag, kLargestSide,
                               batch.height, batch.width);
  }
  if (batch.max_outputs < 1)
    throw InvalidArgumentError("image summary '{}': max_outputs must be positive, not {}", tag, batch.max_outputs);
}

void check_batch(std::string_view tag, const AudioBatch& batch) {
  constexpr std::int64_t kMostFrames = std::int64_t{1} << 32;  // so that no product overflows
  if (batch.max_outputs < 1)
    throw InvalidArgumentError("audio summary '{}': max_outputs must be positive, not {}", tag, batch.max_outputs);
  if (batch.frames < 0 || batch.frames > kMostFrames)
    throw InvalidArgumentError("audio summary '{}': frames must be 0 to {}, not {}", tag, kMostFrames, batch.frames);
  try {
    static_cast<void>(encode_wav({}, batch.sample_rate, batch.channels));
  } catch (const InvalidArgumentError& error) {
    throw InvalidArgumentError("audio summary '{}': {}", tag, error.what());
  }
}

/// The number of elements of one image.
inline std::size_t elements_of_one(const ImageBatch& batch) noexcept {
  return static_cast<std::size_t>(batch.height * batch.width * batch.channels);
}

/// The number of samples of one piece of audio, of `elements` in all.
inline std::size_t elements_of_one(const AudioBatch& batch, std::size_t elements) noexcept {
  return batch.frames == 0 ? elements : static_cast<std::size_t>(batch.frames * batch.channels);
}

void check_batch_size(std::string_view tag, const ImageBatch& batch, std::size_t elements) {
  if (elements % elements_of_one(batch) != 0) {
    throw InvalidArgumentError(
        "image summary '{}': {} elements are not a whole number of images of {} x {} pixels with {} channels", tag,
        elements, batch.height, batch.width, batch.channels);
  }
}

void check_batch_size(std::string_view tag, const AudioBatch& batch, std::size_t elements) {
  if (elements % static_cast<std::size_t>(batch.channels) != 0) {
    throw InvalidArgumentError("audio summary '{}': {} samples are not a whole number of frames of {} channels", tag,
                               elements, batch.channels);
  }
  if (elements != 0 && elements % elements_of_one(batch, elements) != 0) {
    throw InvalidArgumentError(
        "audio summary '{}': {} samples are not a whole number of pieces of {} frames with {} channels", tag, elements,
        batch.frames, batch.channels);
  }
}

template <class T>
void image_to_bytes(std::span<const T> values, std::span<const std::uint8_t> bad_color,
                    std::vector<std::uint8_t>& bytes) {
  const std::size_t channels = bad_color.size();
  const auto is_finite = [&](std::size_t pixel) {
    return std::ranges::all_of(values.subspan(pixel * channels, channels),
                               [](T value) { return detail::is_finite(value); });
  };
  T smallest = std::numeric_limits<T>::infinity();
  T largest = -smallest;
  for (std::size_t pixel = 0; pixel < values.size() / channels; ++pixel) {
    if (!is_finite(pixel)) continue;
    const auto [low, high] = std::ranges::minmax(values.subspan(pixel * channels, channels));
    smallest = (std::min)(smallest, low);
    largest = (std::max)(largest, high);
  }
  constexpr T kZeroThreshold = T{1e-6F};
  const bool centred = smallest < 0;
  const T extent = centred ? (std::max)((std::abs)(smallest), (std::abs)(largest)) : largest;
  const T scale = extent < kZeroThreshold ? T{0} : (centred ? T{127} : T{255}) / extent;
  const T offset = centred ? T{128} : T{0};
  for (std::size_t pixel = 0; pixel < values.size() / channels; ++pixel) {
    const bool finite = is_finite(pixel);
    for (std::size_t c = 0; c < channels; ++c) {
      bytes[pixel * channels + c] =
          finite ? static_cast<std::uint8_t>(values[pixel * channels + c] * scale + offset) : bad_color[c];
    }
  }
}

template <class T>
std::string image_batch_summary_of(std::string_view tag, std::span<const T> pixels, const ImageBatch& batch) {
  check_batch(tag, batch);
  check_batch_size(tag, batch, pixels.size());
  const std::size_t size = elements_of_one(batch);
  const std::size_t shown = (std::min)(pixels.size() / size, static_cast<std::size_t>(batch.max_outputs));
  std::vector<std::uint8_t> converted;
  std::string summary;
  for (std::size_t i = 0; i < shown; ++i) {
    const std::span<const T> image = pixels.subspan(i * size, size);
    std::span<const std::uint8_t> bytes;
    if constexpr (std::is_same_v<T, std::uint8_t>) {
      bytes = image;
    } else {
      converted.resize(size);
      image_to_bytes(image, std::span(batch.bad_color).first(static_cast<std::size_t>(batch.channels)), converted);
      bytes = converted;
    }
    const std::string png = encode_png(bytes, batch.height, batch.width, batch.channels);
    const std::string name = batch.max_outputs > 1 ? fmt::format("{}/image/{}", tag, i) : fmt::format("{}/image", tag);
    summary += image_summary(name, {.height = static_cast<std::int32_t>(batch.height),
                                    .width = static_cast<std::int32_t>(batch.width),
                                    .channels = static_cast<std::int32_t>(batch.channels),
                                    .bytes = png});
  }
  return summary;
}

}  // namespace trainhook::detail

namespace trainhook {

std::string image_batch_summary(std::string_view tag, std::span<const std::uint8_t> pixels, const ImageBatch& batch) {
  return detail::image_batch_summary_of(tag, pixels, batch);
}

std::string image_batch_summary(std::string_view tag, std::span<const float> pixels, const ImageBatch& batch) {
  return detail::image_batch_summary_of(tag, pixels, batch);
}

std::string image_batch_summary(std::string_view tag, std::span<const double> pixels, const ImageBatch& batch) {
  return detail::image_batch_summary_of(tag, pixels, batch);
}

std::string audio_batch_summary(std::string_view tag, std::span<const float> samples, const AudioBatch& batch) {
  detail::check_batch(tag, batch);
  detail::check_batch_size(tag, batch, samples.size());
  if (samples.empty()) return {};
  const std::size_t size = detail::elements_of_one(batch, samples.size());
  const std::size_t shown = (std::min)(samples.size() / size, static_cast<std::size_t>(batch.max_outputs));
  std::string summary;
  for (std::size_t i = 0; i < shown; ++i) {
    const std::string wav = encode_wav(samples.subspan(i * size, size), batch.sample_rate, batch.channels);
    const std::string name = batch.max_outputs > 1 ? fmt::format("{}/audio/{}", tag, i) : fmt::format("{}/audio", tag);
    summary += audio_summary(name, {.sample_rate = batch.sample_rate,
                                    .channels = batch.channels,
                                    .frames = static_cast<std::int64_t>(size) / batch.channels,
                                    .bytes = wav});
  }
  return summary;
}

}  // namespace trainhook
