// SPDX-License-Identifier: Apache-2.0
/// @file
/// Encodes and decodes PNG images with 8 bits per channel, in memory. Decoding checks everything.
#pragma once

#include <png.h>
#include <zlib.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook {

/// Encodes `height` rows of `width` pixels with `channels` bytes each (gray, gray and alpha, RGB, RGBA; alpha not
/// premultiplied).
/// @throws InvalidArgumentError if a size is not positive, or `pixels` has another number of bytes.
[[nodiscard]] TRAINHOOK_DECL std::string encode_png(std::span<const std::uint8_t> pixels, std::int64_t height,
                                                    std::int64_t width, std::int64_t channels);

/// Decodes to a `uint8` tensor [height, width, channels]: a palette becomes colours, 16 bits per channel become 8.
/// `name` is used in messages. @throws DataLossError for bytes that are not a PNG, truncated or damaged.
[[nodiscard]] TRAINHOOK_DECL Tensor decode_png(std::string_view bytes, std::string_view name);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/media/impl/png.ipp>
#endif
