// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of conv_ops.hpp.
#pragma once

#include <trainhook/graph/conv_ops.hpp>

#include <string>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/nn_ops.hpp>
#include <trainhook/graph/op_builder.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL std::vector<std::int64_t> window(const WindowSize& size) { return {1, size[0], size[1], 1}; }

TRAINHOOK_DECL std::string padding_name(Padding padding) { return padding == Padding::Same ? "SAME" : "VALID"; }

TRAINHOOK_DECL std::int64_t windowed(std::string_view op, const Output& x, std::int64_t extent, std::int64_t size,
                                     std::int64_t stride, Padding padding) {
  if (extent == kUnknownDim || size == kUnknownDim) {
    return padding == Padding::Same && extent != kUnknownDim ? (extent + stride - 1) / stride : kUnknownDim;
  }
  if (padding == Padding::Same) return (extent + stride - 1) / stride;
  if (size > extent)
    throw InvalidArgumentError("{}: a window of {} does not fit {} without padding", op, size, spelled(x));
  return (extent - size) / stride + 1;
}

TRAINHOOK_DECL void require_window(std::string_view op, std::string_view what, const WindowSize& size) {
  if (size[0] < 1 || size[1] < 1)
    throw InvalidArgumentError("{}: {} [{},{}] must be positive", op, what, size[0], size[1]);
}

TRAINHOOK_DECL Attrs conv_attrs(DType dtype, const Conv2DOptions& options) {
  return {{"T", dtype},
          {"data_format", std::string("NHWC")},
          {"dilations", std::vector<std::int64_t>{1, 1, 1, 1}},
          {"explicit_paddings", std::vector<std::int64_t>{}},
          {"padding", padding_name(options.padding)},
          {"strides", window(options.strides)},
          {"use_cudnn_on_gpu", true}};
}

TRAINHOOK_DECL Output pool(std::string_view type, const Output& x, const PoolOptions& options, std::string_view name) {
  require_floating(type, x);
  require_rank(type, x, 4);
  require_window(type, "ksize", options.ksize);
  require_window(type, "strides", options.strides);
  std::vector<std::int64_t> dims(4, kUnknownDim);
  if (x.shape().has_rank()) {
    dims = dims_of(x.shape());
    for (std::size_t i = 0; i < 2; ++i)
      dims[i + 1] = windowed(type, x, dims[i + 1], options.ksize[i], options.strides[i], options.padding);
  }
  Attrs attrs{{"T", x.dtype()},
              {"data_format", std::string("NHWC")},
              {"ksize", window(options.ksize)},
              {"padding", padding_name(options.padding)},
              {"strides", window(options.strides)}};
  if (type == "MaxPool") attrs.emplace("explicit_paddings", std::vector<std::int64_t>{});
  return add_op(x.graph(), type, name, {x}, std::move(attrs), x.dtype(), shape_of(dims));
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL Output conv2d(Output x, Output filter, const Conv2DOptions& options, std::string_view name) {
  constexpr std::string_view type = "Conv2D";
  detail::require_floating(type, x);
  detail::require_same_dtype(type, x, filter);
  detail::require_rank(type, x, 4);
  detail::require_rank(type, filter, 4);
  detail::require_window(type, "strides", options.strides);
  std::vector<std::int64_t> dims(4, kUnknownDim);
  if (x.shape().has_rank() && filter.shape().has_rank()) {
    if (!detail::may_equal(x.shape()[3], filter.shape()[2])) {
      throw InvalidArgumentError("{}: {} and filter {} differ in channels", type, detail::spelled(x),
                                 detail::spelled(filter));
    }
    dims[0] = x.shape()[0];
    for (std::size_t i = 0; i < 2; ++i)
      dims[i + 1] = detail::windowed(type, x, x.shape()[i + 1], filter.shape()[i], options.strides[i], options.padding);
    dims[3] = filter.shape()[3];
  }
  return detail::add_op(x.graph(), type, name, {x, filter}, detail::conv_attrs(x.dtype(), options), x.dtype(),
                        detail::shape_of(dims));
}

TRAINHOOK_DECL Output max_pool(Output x, const PoolOptions& options, std::string_view name) {
  return detail::pool("MaxPool", x, options, name);
}

TRAINHOOK_DECL Output avg_pool(Output x, const PoolOptions& options, std::string_view name) {
  return detail::pool("AvgPool", x, options, name);
}

}  // namespace trainhook
