// SPDX-License-Identifier: Apache-2.0
/// @file
/// Summaries of batches of images or audio in memory, as TensorFlow's ops write them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>

namespace trainhook {

/// Images in memory: [number, height, width, channels] in row-major order. The number of images follows from the size
/// of the memory.
struct ImageBatch {
  std::int64_t height{};
  std::int64_t width{};
  std::int64_t channels = 1;                              ///< 1 (gray), 3 (RGB) or 4 (RGBA)
  std::int64_t max_outputs = 3;                           ///< shows only the first ones
  std::array<std::uint8_t, 4> bad_color{255, 0, 0, 255};  ///< for pixels with a value that is not finite
};

/// Audio in memory: [number, frames, channels] in row-major order, samples in [-1, 1].
struct AudioBatch {
  float sample_rate{};           ///< frames per second
  std::int64_t channels = 1;     ///< samples per frame
  std::int64_t frames = 0;       ///< per piece; 0: the whole memory is one piece
  std::int64_t max_outputs = 3;  ///< shows only the first ones
};

/// A summary of images, with the tags `<tag>/image/0`, `<tag>/image/1`, ..., or `<tag>/image` if `max_outputs` is 1.
/// Bytes are shown unchanged. Floats are scaled per image: [0, largest] maps to 0 to 255 or, if some are negative,
/// [-largest, largest] maps to a range around 128. Source: `tf.compat.v1.summary.image`.
/// @throws InvalidArgumentError, naming `tag`, for impossible sizes, or memory that ends inside an image.
[[nodiscard]] TRAINHOOK_DECL std::string image_batch_summary(std::string_view tag, std::span<const std::uint8_t> pixels,
                                                             const ImageBatch& batch);
[[nodiscard]] TRAINHOOK_DECL std::string image_batch_summary(std::string_view tag, std::span<const float> pixels,
                                                             const ImageBatch& batch);
[[nodiscard]] TRAINHOOK_DECL std::string image_batch_summary(std::string_view tag, std::span<const double> pixels,
                                                             const ImageBatch& batch);

/// A summary of audio as WAV, with the tags `<tag>/audio/0`, `<tag>/audio/1`, ..., or `<tag>/audio` if `max_outputs` is
/// 1. Source: `tf.compat.v1.summary.audio`.
/// @throws InvalidArgumentError, naming `tag`, for a format that WAV does not support, or memory that ends inside a
/// piece.
[[nodiscard]] TRAINHOOK_DECL std::string audio_batch_summary(std::string_view tag, std::span<const float> samples,
                                                             const AudioBatch& batch);

namespace detail {

// The checks of the functions above, for batches that are registered now and encoded later.

/// @throws InvalidArgumentError, naming `tag`.
TRAINHOOK_DECL void check_batch(std::string_view tag, const ImageBatch& batch);
TRAINHOOK_DECL void check_batch(std::string_view tag, const AudioBatch& batch);

/// @throws InvalidArgumentError, naming `tag`, if the elements end inside an image or a piece of audio.
TRAINHOOK_DECL void check_batch_size(std::string_view tag, const ImageBatch& batch, std::size_t elements);
TRAINHOOK_DECL void check_batch_size(std::string_view tag, const AudioBatch& batch, std::size_t elements);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/media/impl/batch_summary.ipp>
#endif
