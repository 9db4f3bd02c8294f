// SPDX-License-Identifier: Apache-2.0
/// @file
/// PNG images with 8 bits a channel, in memory: encoding for image summaries, and decoding that checks everything.
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
/// @throws InvalidArgumentError if the sizes are not positive, or `pixels` has not exactly that many bytes.
[[nodiscard]] TRAINHOOK_DECL std::string encode_png(std::span<const std::uint8_t> pixels, std::int64_t height,
                                                    std::int64_t width, std::int64_t channels);

/// A `uint8` tensor of shape [height, width, channels]: a palette is resolved, 16 bits a channel become 8.
/// `name` is used in messages. @throws DataLossError for bytes that are no PNG, truncated or damaged.
[[nodiscard]] TRAINHOOK_DECL Tensor decode_png(std::string_view bytes, std::string_view name);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/media/impl/png.ipp>
#endif
