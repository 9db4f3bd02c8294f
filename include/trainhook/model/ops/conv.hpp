// SPDX-License-Identifier: Apache-2.0
/// @file
/// Convolution and pooling of images [batch, height, width, channels].
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook {

/// Padding at the border. `Same` pads with zeros so that the result's extent is that of the input divided by the
/// stride, rounded up; `Valid` does not pad; `Explicit`, for convolutions only, pads with the number of zeros in the
/// options.
enum class Padding { Same, Valid, Explicit };

/// Height and width of a window or a stride.
using WindowSize = std::array<std::int64_t, 2>;

struct Conv2DOptions {
  WindowSize strides{1, 1};
  Padding padding = Padding::Same;
  WindowSize dilations{1, 1};                     ///< the distance between the elements of a window
  std::array<WindowSize, 2> explicit_paddings{};  ///< zeros before and after, for the height and the width
};

struct PoolOptions {
  WindowSize ksize{2, 2};
  WindowSize strides{2, 2};
  Padding padding = Padding::Valid;
};

namespace detail {

/// AvgPool, Conv2D, DepthwiseConv2dNative, MaxPool, and the ops of their gradients.
[[nodiscard]] TRAINHOOK_DECL OpFamily conv_ops() noexcept;

}  // namespace detail

/// The convolution of `x` with `filter`, [height, width, channels in, channels out]. Source: `tf.nn.conv2d`, data
/// format NHWC.
/// @throws InvalidArgumentError if the channels differ.
TRAINHOOK_DECL Output conv2d(Output x, Output filter, const Conv2DOptions& options = {}, std::string_view name = {});

/// Convolves each channel of `x` with its own filters: `filter` is [height, width, channels, multiplier], and the
/// result has channels * multiplier channels. Both strides must be equal; dilations are not implemented. Source:
/// `tf.nn.depthwise_conv2d`.
TRAINHOOK_DECL Output depthwise_conv2d(Output x, Output filter, const Conv2DOptions& options = {},
                                       std::string_view name = {});

/// The largest element of each window. Source: `tf.nn.max_pool2d`.
TRAINHOOK_DECL Output max_pool(Output x, const PoolOptions& options = {}, std::string_view name = {});
/// The mean of each window. Source: `tf.nn.avg_pool2d`.
TRAINHOOK_DECL Output avg_pool(Output x, const PoolOptions& options = {}, std::string_view name = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/ops/impl/conv.ipp>
#endif
