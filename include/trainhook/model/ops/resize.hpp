// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ops that resize images [batch, height, width, channels].
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook {

/// Height and width.
using ImageSize = std::array<std::int64_t, 2>;

/// At most one of them may be set.
struct ResizeOptions {
  bool align_corners = false;       ///< the centers of the four corner pixels keep their positions
  bool half_pixel_centers = false;  ///< coordinates refer to the centers of pixels, as in newer versions of TensorFlow
};

namespace detail {

/// ResizeBilinear, ResizeNearestNeighbor and their gradients.
[[nodiscard]] TRAINHOOK_DECL OpFamily resize_ops() noexcept;

}  // namespace detail

/// Resizes `images` with bilinear interpolation; the result is float32. Source: `tf.compat.v1.image.resize_bilinear`.
TRAINHOOK_DECL Output resize_bilinear(Output images, const ImageSize& size, const ResizeOptions& options = {},
                                      std::string_view name = "ResizeBilinear");

/// Resizes `images`; each pixel takes the value of the nearest one. Source:
/// `tf.compat.v1.image.resize_nearest_neighbor`.
TRAINHOOK_DECL Output resize_nearest_neighbor(Output images, const ImageSize& size, const ResizeOptions& options = {},
                                              std::string_view name = "ResizeNearestNeighbor");

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/ops/impl/resize.ipp>
#endif
