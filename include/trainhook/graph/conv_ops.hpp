// SPDX-License-Identifier: Apache-2.0
/// @file
/// Convolution and pooling of images [batch, height, width, channels].
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/graph/nn_ops.hpp>

namespace trainhook {

/// What happens at the border: `Same` pads with zeros so that extents are divided by the stride, rounded up; `Valid` pads nothing.
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

inline std::vector<std::int64_t> window(const WindowSize& size) { return {1, size[0], size[1], 1}; }
inline std::string padding_name(Padding padding) { return padding == Padding::Same ? "SAME" : "VALID"; }

/// The extent after a window of `size` has moved over `extent`. @throws InvalidArgumentError where it does not fit.
inline std::int64_t windowed(std::string_view op, const Output& x, std::int64_t extent, std::int64_t size, std::int64_t stride,
                             Padding padding) {
  if (extent == kUnknownDim || size == kUnknownDim) {
    return padding == Padding::Same && extent != kUnknownDim ? (extent + stride - 1) / stride : kUnknownDim;
  }
  if (padding == Padding::Same) return (extent + stride - 1) / stride;
  if (size > extent) throw InvalidArgumentError(op, ": a window of ", size, " does not fit ", spelled(x), " without padding");
  return (extent - size) / stride + 1;
}

inline void require_window(std::string_view op, std::string_view what, const WindowSize& size) {
  if (size[0] < 1 || size[1] < 1) throw InvalidArgumentError(op, ": ", what, " [", size[0], ",", size[1], "] must be positive");
}

inline Attrs conv_attrs(DType dtype, const Conv2DOptions& options) {
  return {{"T", dtype},
          {"data_format", std::string("NHWC")},
          {"dilations", std::vector<std::int64_t>{1, 1, 1, 1}},
          {"explicit_paddings", std::vector<std::int64_t>{}},
          {"padding", padding_name(options.padding)},
          {"strides", window(options.strides)},
          {"use_cudnn_on_gpu", true}};
}

inline Output pool(std::string_view type, const Output& x, const PoolOptions& options, std::string_view name) {
  require_floating(type, x);
  require_rank(type, x, 4);
  require_window(type, "ksize", options.ksize);
  require_window(type, "strides", options.strides);
  std::vector<std::int64_t> dims(4, kUnknownDim);
  if (x.shape().has_rank()) {
    dims = dims_of(x.shape());
    for (std::size_t i = 0; i < 2; ++i) dims[i + 1] = windowed(type, x, dims[i + 1], options.ksize[i], options.strides[i], options.padding);
  }
  Attrs attrs{{"T", x.dtype()}, {"data_format", std::string("NHWC")}, {"ksize", window(options.ksize)},
              {"padding", padding_name(options.padding)}, {"strides", window(options.strides)}};
  if (type == "MaxPool") attrs.emplace("explicit_paddings", std::vector<std::int64_t>{});
  return add_op(x.graph(), type, name, {x}, std::move(attrs), x.dtype(), shape_of(dims));
}

}  // namespace detail

/// `filter` is [height, width, channels in, channels out]. Source: `tf.nn.conv2d`, data format NHWC, no dilation.
/// @throws InvalidArgumentError where the channels differ.
inline Output conv2d(Output x, Output filter, const Conv2DOptions& options = {}, std::string_view name = {}) {
  constexpr std::string_view type = "Conv2D";
  detail::require_floating(type, x);
  detail::require_same_dtype(type, x, filter);
  detail::require_rank(type, x, 4);
  detail::require_rank(type, filter, 4);
  detail::require_window(type, "strides", options.strides);
  std::vector<std::int64_t> dims(4, kUnknownDim);
  if (x.shape().has_rank() && filter.shape().has_rank()) {
    if (!detail::may_equal(x.shape()[3], filter.shape()[2])) {
      throw InvalidArgumentError(type, ": ", detail::spelled(x), " and filter ", detail::spelled(filter), " differ in channels");
    }
    dims[0] = x.shape()[0];
    for (std::size_t i = 0; i < 2; ++i)
      dims[i + 1] = detail::windowed(type, x, x.shape()[i + 1], filter.shape()[i], options.strides[i], options.padding);
    dims[3] = filter.shape()[3];
  }
  return detail::add_op(x.graph(), type, name, {x, filter}, detail::conv_attrs(x.dtype(), options), x.dtype(), detail::shape_of(dims));
}

/// The largest element of each window, or their mean. Source: `tf.nn.max_pool2d`, `tf.nn.avg_pool2d`.
inline Output max_pool(Output x, const PoolOptions& options = {}, std::string_view name = {}) {
  return detail::pool("MaxPool", x, options, name);
}
inline Output avg_pool(Output x, const PoolOptions& options = {}, std::string_view name = {}) {
  return detail::pool("AvgPool", x, options, name);
}

}  // namespace trainhook
