// SPDX-License-Identifier: Apache-2.0
/// @file
/// Convolution and pooling of images [batch, height, width, channels].
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook {

/// What happens at the border: `Same` pads with zeros so that extents are divided by the stride, rounded up; `Valid`
/// pads nothing.
enum class Padding { Same, Valid };

/// Height and width of a window or a stride.
using WindowSize = std::array<std::int64_t, 2>;

struct Conv2DOptions {
  WindowSize strides{1, 1};
  Padding padding = Padding::Same;
};

struct PoolOptions {
  WindowSize ksize{2, 2};
  WindowSize strides{2, 2};
  Padding padding = Padding::Valid;
};

namespace detail {

TRAINHOOK_DECL std::vector<std::int64_t> window(const WindowSize& size);

/// The extent after a window of `size` has moved over `extent`. @throws InvalidArgumentError where it does not fit.
TRAINHOOK_DECL std::int64_t windowed(std::string_view op, const Output& x, std::int64_t extent, std::int64_t size,
                                     std::int64_t stride, Padding padding);

TRAINHOOK_DECL void require_window(std::string_view op, std::string_view what, const WindowSize& size);
TRAINHOOK_DECL Output pool(std::string_view type, const Output& x, const PoolOptions& options, std::string_view name);

}  // namespace detail

/// `filter` is [height, width, channels in, channels out]. Source: `tf.nn.conv2d`, data format NHWC, no dilation.
/// @throws InvalidArgumentError where the channels differ.
TRAINHOOK_DECL Output conv2d(Output x, Output filter, const Conv2DOptions& options = {}, std::string_view name = {});

/// The largest element of each window, or their mean. Source: `tf.nn.max_pool2d`, `tf.nn.avg_pool2d`.
TRAINHOOK_DECL Output max_pool(Output x, const PoolOptions& options = {}, std::string_view name = {});
TRAINHOOK_DECL Output avg_pool(Output x, const PoolOptions& options = {}, std::string_view name = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/conv_ops.ipp>
#endif
