// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/ops/conv.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>
#include <trainhook/model/ops/array.hpp>

namespace trainhook::detail {

/// Zeros before and after the height, and the width.
using Borders = std::array<std::int64_t, 4>;

/// The extent after a window of `size` has moved over `extent`, to which `added` zeros are added. @throws
/// InvalidArgumentError if it does not fit.
inline std::int64_t windowed(const NodeSpec& node, std::int64_t extent, std::int64_t size, std::int64_t stride,
                             std::int64_t added) {
  const bool is_same = attr_of<std::string>(node, "padding") == "SAME";
  if (extent == kUnknownDim || (!is_same && size == kUnknownDim)) return kUnknownDim;
  if (is_same) return extent / stride + (extent % stride != 0 ? 1 : 0);
  if (__builtin_add_overflow(extent, added, &extent)) return kUnknownDim;
  if (size > extent) {
    throw InvalidArgumentError("{}: a window of {} does not fit {} with {} zeros around it", label(node), size,
                               node.inputs[0], added);
  }
  return (extent - size) / stride + 1;
}

/// Which dimension is the height of the images; the width is the next one.
inline std::size_t height_axis(const NodeSpec& node) { return channel_axis(node, 4) == 1 ? 2 : 1; }

/// The attribute `explicit_paddings`, such as [0,0,top,bottom,left,right,0,0]; no zeros unless the padding is EXPLICIT.
/// @throws InvalidArgumentError if it has another form.
inline Borders explicit_borders(const NodeSpec& node) {
  const bool is_explicit = attr_of<std::string>(node, "padding") == "EXPLICIT";
  const auto& paddings = attr_of<Dims>(node, "explicit_paddings");
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  const std::size_t first = 2 * height_axis(node);
  bool fits = paddings.size() == (is_explicit ? 8 : 0);
  for (std::size_t i = 0; fits && i < paddings.size(); ++i)
    fits = i >= first && i < first + 4 ? paddings[i] >= 0 && paddings[i] < kMost : paddings[i] == 0;
  if (!fits) {
    throw InvalidArgumentError(
        "{}: explicit_paddings {} must be [0,0,top,bottom,left,right,0,0] for EXPLICIT, or empty", label(node),
        dims_to_string(paddings));
  }
  if (!is_explicit) return {};
  return {paddings[first], paddings[first + 1], paddings[first + 2], paddings[first + 3]};
}

/// Height and width in an attribute of the form [1,h,w,1], or [1,1,h,w]. @throws InvalidArgumentError if it has another
/// form.
inline WindowSize window_in(const NodeSpec& node, std::string_view key) {
  const auto& dims = attr_of<Dims>(node, key);
  if (dims.size() != 4) throw InvalidArgumentError("{}: {} has {} numbers, not 4", label(node), key, dims.size());
  const WindowSize size{dims[height_axis(node)], dims[height_axis(node) + 1]};
  if (size[0] < 1 || size[1] < 1)
    throw InvalidArgumentError("{}: {} [{},{}] must be positive", label(node), key, size[0], size[1]);
  return size;
}

/// Input 0 after windows of `size` have moved over it.
inline PartialShape windows(const NodeSpec& node, const WindowSize& size, std::int64_t channels,
                            const Borders& borders = {}) {
  const PartialShape& x = node.inputs[0].shape();
  const WindowSize strides = window_in(node, "strides");
  const std::size_t height = height_axis(node);
  Dims dims(4, kUnknownDim);
  dims[channel_axis(node, 4)] = channels;
  if (!x.has_rank()) return shape_of(dims);
  dims[0] = x[0];
  for (std::size_t i = 0; i < 2; ++i)
    dims[height + i] = windowed(node, x[height + i], size[i], strides[i], borders[2 * i] + borders[2 * i + 1]);
  return shape_of(dims);
}

/// How far the windows of input 1, a filter, reach.
inline WindowSize filter_reach(const NodeSpec& node) {
  const PartialShape& filter = node.inputs[1].shape();
  const WindowSize dilations = window_in(node, "dilations");
  const auto reach = [&](std::size_t i) {
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    const bool is_known = filter.has_rank() && filter[i] > 0 && filter[i] < kMost && dilations[i] < kMost;
    return is_known ? (filter[i] - 1) * dilations[i] + 1 : kUnknownDim;
  };
  return {reach(0), reach(1)};
}

/// The shape of a convolution whose result has as many channels as `channels_of(filter)` says.
template <class Channels>
PartialShape convolved_shape(const NodeSpec& node, const Channels& channels_of) {
  const Output& x = node.inputs[0];
  const Output& filter = node.inputs[1];
  for (const Output& input : node.inputs) require_rank(label(node), input, 4);
  const PartialShape& kernel = filter.shape();
  if (x.shape().has_rank() && kernel.has_rank() && !may_equal(x.shape()[channel_axis(node, 4)], kernel[2]))
    throw InvalidArgumentError("{}: {} and filter {} differ in channels", label(node), x, filter);
  return windows(node, filter_reach(node), kernel.has_rank() ? channels_of(kernel) : kUnknownDim,
                 explicit_borders(node));
}

inline PartialShape conv2d_shape(const NodeSpec& node, std::size_t) {
  return convolved_shape(node, [](const PartialShape& filter) { return filter[3]; });
}

inline PartialShape depthwise_shape(const NodeSpec& node, std::size_t) {
  return convolved_shape(node, [](const PartialShape& filter) {
    std::int64_t channels = 0;
    const bool is_known = filter[2] != kUnknownDim && filter[3] != kUnknownDim;
    return is_known && !__builtin_mul_overflow(filter[2], filter[3], &channels) ? channels : kUnknownDim;
  });
}

inline PartialShape pool_shape(const NodeSpec& node, std::size_t) {
  const PartialShape& x = node.inputs[0].shape();
  require_rank(label(node), node.inputs[0], 4);
  const Borders borders = node.attrs.contains("explicit_paddings") ? explicit_borders(node) : Borders{};
  return windows(node, window_in(node, "ksize"), x.has_rank() ? x[channel_axis(node, 4)] : kUnknownDim, borders);
}

/// The four dimensions that input `Index` holds.
template <std::size_t Index>
PartialShape four_dims_in(const NodeSpec& node, std::size_t) {
  const PartialShape shape = shape_rules::dims_in<Index>(node, 0);
  if (!shape.has_rank()) return unknown_of_rank(4);
  if (shape.rank() != 4)
    throw InvalidArgumentError("{}: {} does not hold four dimensions", label(node), node.inputs[Index]);
  return shape;
}

inline PartialShape conv2d_input_shape(const NodeSpec& node, std::size_t) {
  const Output& filter = node.inputs[1];
  const Output& grad = node.inputs[2];
  for (const Output& input : {filter, grad}) require_rank(label(node), input, 4);
  Dims dims = dims_of(four_dims_in<0>(node, 0));
  if (!grad.shape().has_rank()) return shape_of(dims);
  const bool fits = may_equal(dims[0], grad.shape()[0]) &&
                    (!filter.shape().has_rank() || may_equal(grad.shape()[channel_axis(node, 4)], filter.shape()[3]));
  if (!fits) throw InvalidArgumentError("{}: {} is not the gradient of filter {}", label(node), grad, filter);
  if (dims[0] == kUnknownDim) dims[0] = grad.shape()[0];
  return shape_of(dims);
}

inline PartialShape max_pool_grad_shape(const NodeSpec& node, std::size_t) {
  require_rank(label(node), node.inputs[0], 4);
  return node.inputs[0].shape().has_rank() ? node.inputs[0].shape() : unknown_of_rank(4);
}

inline constexpr std::string_view kConv2DAttrs =
    "T:floating strides:ints padding:string{SAME,VALID,EXPLICIT} data_format:string{NHWC,NCHW}=NHWC "
    "dilations:ints=[1,1,1,1] explicit_paddings:ints=[] use_cudnn_on_gpu:bool=true";
inline constexpr std::string_view kDepthwiseAttrs =
    "T:floating strides:ints padding:string{SAME,VALID,EXPLICIT} data_format:string{NHWC,NCHW}=NHWC "
    "dilations:ints=[1,1,1,1] explicit_paddings:ints=[]";
inline constexpr std::string_view kAvgPoolAttrs =
    "T:floating ksize:ints>3 strides:ints>3 padding:string{SAME,VALID} data_format:string{NHWC,NCHW}=NHWC";
inline constexpr std::string_view kMaxPoolAttrs =
    "T:floating=float32 ksize:ints>3 strides:ints>3 padding:string{SAME,VALID,EXPLICIT} "
    "data_format:string{NHWC,NCHW}=NHWC explicit_paddings:ints=[]";

inline constexpr OpDef kAvgPoolGradOp{"AvgPoolGrad", "int32 T -> T", kAvgPoolAttrs, four_dims_in<0>};
inline constexpr OpDef kConv2DBackpropFilterOp{"Conv2DBackpropFilter", "T int32 T -> T", kConv2DAttrs, four_dims_in<1>};
inline Grads conv2d_backprop_input_grad(const GradientContext& context);

inline constexpr OpDef kConv2DBackpropInputOp{"Conv2DBackpropInput", "int32 T T -> T", kConv2DAttrs, conv2d_input_shape,
                                              conv2d_backprop_input_grad};
inline constexpr OpDef kDepthwiseBackpropFilterOp{"DepthwiseConv2dNativeBackpropFilter", "T int32 T -> T",
                                                  kDepthwiseAttrs, four_dims_in<1>};
inline constexpr OpDef kDepthwiseBackpropInputOp{"DepthwiseConv2dNativeBackpropInput", "int32 T T -> T",
                                                 kDepthwiseAttrs, four_dims_in<0>};
inline constexpr OpDef kMaxPoolGradOp{"MaxPoolGrad", "T T T -> T", kMaxPoolAttrs, max_pool_grad_shape};

inline Output conv_grad_op(const GradientContext& context, const OpDef& def, std::vector<Output> inputs,
                           const Output& like) {
  return add_node(
             context.graph(), def,
             {.inputs = std::move(inputs), .attrs = context.node().attrs(), .outputs = {{like.dtype(), like.shape()}}})
      .output();
}

inline Grads convolution_grad(const GradientContext& context, const OpDef& of_input, const OpDef& of_filter) {
  const Output x = context.input(0);
  const Output filter = context.input(1);
  const Output grad = context.grad();
  Grads result(2);
  if (context.needs(0)) result[0] = conv_grad_op(context, of_input, {shape_tensor(x), filter, grad}, x);
  if (context.needs(1)) result[1] = conv_grad_op(context, of_filter, {x, shape_tensor(filter), grad}, filter);
  return result;
}

inline Grads conv2d_grad(const GradientContext& context) {
  return convolution_grad(context, kConv2DBackpropInputOp, kConv2DBackpropFilterOp);
}

inline Grads depthwise_grad(const GradientContext& context) {
  return convolution_grad(context, kDepthwiseBackpropInputOp, kDepthwiseBackpropFilterOp);
}

inline Grads max_pool_grad(const GradientContext& context) {
  const Output x = context.input(0);
  return {conv_grad_op(context, kMaxPoolGradOp, {x, context.output(), context.grad()}, x)};
}

inline Grads avg_pool_grad(const GradientContext& context) {
  const Output x = context.input(0);
  return {conv_grad_op(context, kAvgPoolGradOp, {shape_tensor(x), context.grad()}, x)};
}

inline constexpr OpDef kAvgPoolOp{"AvgPool", "T -> T", kAvgPoolAttrs, pool_shape, avg_pool_grad};
inline constexpr OpDef kConv2DOp{"Conv2D", "T T -> T", kConv2DAttrs, conv2d_shape, conv2d_grad};
/// The gradients of a transposed convolution.
Grads conv2d_backprop_input_grad(const GradientContext& context) {
  const Output filter = context.input(1);
  const Output x = context.input(2);
  const Output grad = context.grad();
  Grads result(3);
  if (context.needs(1))
    result[1] = conv_grad_op(context, kConv2DBackpropFilterOp, {grad, shape_tensor(filter), x}, filter);
  if (context.needs(2)) result[2] = conv_grad_op(context, kConv2DOp, {grad, filter}, x);
  return result;
}

inline constexpr OpDef kDepthwiseOp{"DepthwiseConv2dNative", "T T -> T", kDepthwiseAttrs, depthwise_shape,
                                    depthwise_grad};
inline constexpr OpDef kMaxPoolOp{"MaxPool", "T -> T", kMaxPoolAttrs, pool_shape, max_pool_grad};

inline constexpr std::array kConvOps{&kAvgPoolOp,
                                     &kAvgPoolGradOp,
                                     &kConv2DOp,
                                     &kConv2DBackpropFilterOp,
                                     &kConv2DBackpropInputOp,
                                     &kDepthwiseOp,
                                     &kDepthwiseBackpropFilterOp,
                                     &kDepthwiseBackpropInputOp,
                                     &kMaxPoolOp,
                                     &kMaxPoolGradOp};

OpFamily conv_ops() noexcept { return kConvOps; }

inline Dims window(const WindowSize& size) { return {1, size[0], size[1], 1}; }

inline std::string padding_name(Padding padding) {
  return padding == Padding::Same ? "SAME" : padding == Padding::Valid ? "VALID" : "EXPLICIT";
}

inline Output convolution(const OpDef& def, const Output& x, const Output& filter, const Conv2DOptions& options,
                          std::string_view name) {
  Attrs attrs{{"dilations", window(options.dilations)},
              {"padding", padding_name(options.padding)},
              {"strides", window(options.strides)}};
  if (options.padding == Padding::Explicit) {
    const auto& [height, width] = options.explicit_paddings;
    attrs.emplace("explicit_paddings", Dims{0, 0, height[0], height[1], width[0], width[1], 0, 0});
  }
  return add_op(def, name, {x, filter}, std::move(attrs));
}

inline Output pool(const OpDef& def, const Output& x, const PoolOptions& options, std::string_view name) {
  if (options.padding == Padding::Explicit)
    throw InvalidArgumentError("{}: windows of a pool are padded as Same or Valid says; pad() the input instead",
                               def.type);
  return add_op(def, name, {x},
                {{"ksize", window(options.ksize)},
                 {"padding", padding_name(options.padding)},
                 {"strides", window(options.strides)}});
}

}  // namespace trainhook::detail

namespace trainhook {

Output conv2d(Output x, Output filter, const Conv2DOptions& options, std::string_view name) {
  return detail::convolution(detail::kConv2DOp, x, filter, options, name);
}

Output depthwise_conv2d(Output x, Output filter, const Conv2DOptions& options, std::string_view name) {
  return detail::convolution(detail::kDepthwiseOp, x, filter, options, name);
}

Output max_pool(Output x, const PoolOptions& options, std::string_view name) {
  return detail::pool(detail::kMaxPoolOp, x, options, name);
}

Output avg_pool(Output x, const PoolOptions& options, std::string_view name) {
  return detail::pool(detail::kAvgPoolOp, x, options, name);
}

}  // namespace trainhook
