// SPDX-License-Identifier: Apache-2.0
/// @file
/// Summaries of several images or pieces of audio that follow one another in memory, as TensorFlow's ops write
/// them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>

namespace trainhook {

/// Images in memory: [number, height, width, channels] in row-major order. The number follows from the memory's size.
struct ImageBatch {
  std::int64_t height{};
  std::int64_t width{};
  std::int64_t channels = 1;                              ///< 1 (gray), 3 (RGB) or 4 (RGBA)
  std::int64_t max_outputs = 3;                           ///< only so many are shown, the first
  std::array<std::uint8_t, 4> bad_color{255, 0, 0, 255};  ///< of pixels with a value that is not finite
};

/// Audio in memory: [number, frames, channels] in row-major order, samples in [-1, 1].
struct AudioBatch {
  float sample_rate{};           ///< frames a second
  std::int64_t channels = 1;     ///< samples a frame
  std::int64_t frames = 0;       ///< of each piece; 0: all of the memory is one piece
  std::int64_t max_outputs = 3;  ///< only so many are shown, the first
};

/// A summary of images, with the tags `<tag>/image/0`, `<tag>/image/1`, ..., or `<tag>/image` if `max_outputs` is 1.
/// Bytes are shown as they are. Floats become bytes image by image: [0, largest] is spread over 0 to 255, or, if some
/// are negative, [-largest, largest] around 128. Source: `tf.compat.v1.summary.image`.
/// @throws InvalidArgumentError, naming `tag`, for sizes that an image cannot have, or memory that ends inside an
/// image.
[[nodiscard]] TRAINHOOK_DECL std::string image_batch_summary(std::string_view tag, std::span<const std::uint8_t> pixels,
                                                             const ImageBatch& batch);
[[nodiscard]] TRAINHOOK_DECL std::string image_batch_summary(std::string_view tag, std::span<const float> pixels,
                                                             const ImageBatch& batch);
[[nodiscard]] TRAINHOOK_DECL std::string image_batch_summary(std::string_view tag, std::span<const double> pixels,
                                                             const ImageBatch& batch);

/// A summary of audio as WAV, with the tags `<tag>/audio/0`, `<tag>/audio/1`, ..., or `<tag>/audio` if `max_outputs` is
/// 1. Source: `tf.compat.v1.summary.audio`.
/// @throws InvalidArgumentError, naming `tag`, for a format that WAV has not, or memory that ends inside a piece.
[[nodiscard]] TRAINHOOK_DECL std::string audio_batch_summary(std::string_view tag, std::span<const float> samples,
                                                             const AudioBatch& batch);

namespace detail {

// The checks of the functions above, for what is registered now and encoded later.

/// @throws InvalidArgumentError, naming `tag`.
TRAINHOOK_DECL void check_batch(std::string_view tag, const ImageBatch& batch);
TRAINHOOK_DECL void check_batch(std::string_view tag, const AudioBatch& batch);

/// @throws InvalidArgumentError, naming `tag`, if so many elements end inside an image or a piece of audio.
TRAINHOOK_DECL void check_batch_size(std::string_view tag, const ImageBatch& batch, std::size_t elements);
TRAINHOOK_DECL void check_batch_size(std::string_view tag, const AudioBatch& batch, std::size_t elements);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/media/impl/batch_summary.ipp>
#endif
