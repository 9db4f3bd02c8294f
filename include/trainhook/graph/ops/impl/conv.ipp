// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of conv.hpp, and the definitions of its ops.
#pragma once

#include <trainhook/graph/ops/conv.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/gradient_registry.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/array.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>

namespace trainhook::detail {

/// The extent after a window of `size` has moved over `extent`. @throws InvalidArgumentError if it does not fit.
TRAINHOOK_DECL std::int64_t windowed(const NodeSpec& node, std::int64_t extent, std::int64_t size,
                                     std::int64_t stride) {
  const bool is_same = attr_of<std::string>(node, "padding") == "SAME";
  if (extent == kUnknownDim || (!is_same && size == kUnknownDim)) return kUnknownDim;
  if (is_same) return extent / stride + (extent % stride != 0 ? 1 : 0);
  if (size > extent) {
    throw InvalidArgumentError("{}: a window of {} does not fit {} without padding", label(node), size, node.inputs[0]);
  }
  return (extent - size) / stride + 1;
}

/// Height and width in an attribute of the form [1,h,w,1]. @throws InvalidArgumentError if it has another form.
TRAINHOOK_DECL WindowSize window_in(const NodeSpec& node, std::string_view key) {
  const auto& dims = attr_of<Dims>(node, key);
  if (dims.size() != 4) throw InvalidArgumentError("{}: {} has {} numbers, not 4", label(node), key, dims.size());
  if (dims[1] < 1 || dims[2] < 1)
    throw InvalidArgumentError("{}: {} [{},{}] must be positive", label(node), key, dims[1], dims[2]);
  return {dims[1], dims[2]};
}

/// Input 0 after windows of `size` have moved over it.
TRAINHOOK_DECL PartialShape windows(const NodeSpec& node, const WindowSize& size, std::int64_t channels) {
  const PartialShape& x = node.inputs[0].shape();
  const std::string& padding = attr_of<std::string>(node, "padding");
  const WindowSize strides = window_in(node, "strides");
  if (padding != "SAME" && padding != "VALID") return unknown_of_rank(4);
  if (!x.has_rank()) return PartialShape{kUnknownDim, kUnknownDim, kUnknownDim, channels};
  return PartialShape{x[0], windowed(node, x[1], size[0], strides[0]), windowed(node, x[2], size[1], strides[1]),
                      channels};
}

TRAINHOOK_DECL PartialShape conv2d_shape(const NodeSpec& node, std::size_t) {
  const Output& x = node.inputs[0];
  const Output& filter = node.inputs[1];
  for (const Output& input : node.inputs) require_rank(label(node), input, 4);
  if (attr_of<std::string>(node, "data_format") != "NHWC") return unknown_of_rank(4);
  const PartialShape& kernel = filter.shape();
  if (x.shape().has_rank() && kernel.has_rank() && !may_equal(x.shape()[3], kernel[2]))
    throw InvalidArgumentError("{}: {} and filter {} differ in channels", label(node), x, filter);
  if (!kernel.has_rank()) return windows(node, {kUnknownDim, kUnknownDim}, kUnknownDim);
  const auto& dilations = attr_of<Dims>(node, "dilations");
  const auto reach = [&](std::size_t i) {  // how far a window reaches
    const std::int64_t dilation = dilations.size() == 4 ? dilations[i + 1] : 1;
    const bool is_known =
        kernel[i] > 0 && dilation >= 1 && dilation < (std::int64_t{1} << 31) && kernel[i] < (std::int64_t{1} << 31);
    return is_known ? (kernel[i] - 1) * dilation + 1 : kUnknownDim;
  };
  return windows(node, {reach(0), reach(1)}, kernel[3]);
}

TRAINHOOK_DECL PartialShape pool_shape(const NodeSpec& node, std::size_t) {
  const PartialShape& x = node.inputs[0].shape();
  require_rank(label(node), node.inputs[0], 4);
  const WindowSize size = window_in(node, "ksize");
  if (attr_of<std::string>(node, "data_format") != "NHWC") return unknown_of_rank(4);
  return windows(node, size, x.has_rank() ? x[3] : kUnknownDim);
}

inline constexpr std::string_view kConv2DAttrs =
    "T:floating strides:ints padding:string data_format:string=NHWC dilations:ints=[1,1,1,1] explicit_paddings:ints=[] "
    "use_cudnn_on_gpu:bool=true";
inline constexpr std::string_view kAvgPoolAttrs =
    "T:floating ksize:ints strides:ints padding:string data_format:string=NHWC";
inline constexpr std::string_view kMaxPoolAttrs =
    "T:floating=float32 ksize:ints strides:ints padding:string data_format:string=NHWC explicit_paddings:ints=[]";

inline constexpr OpDef kAvgPoolGradOp{"AvgPoolGrad", "int32 T -> T", kAvgPoolAttrs, shape_rules::dims_in<0>};
inline constexpr OpDef kConv2DBackpropFilterOp{"Conv2DBackpropFilter", "T int32 T -> T", kConv2DAttrs,
                                               shape_rules::dims_in<1>};
inline constexpr OpDef kConv2DBackpropInputOp{"Conv2DBackpropInput", "int32 T T -> T", kConv2DAttrs,
                                              shape_rules::dims_in<0>};
inline constexpr OpDef kMaxPoolGradOp{"MaxPoolGrad", "T T T -> T", kMaxPoolAttrs, shape_rules::like<0>};

TRAINHOOK_DECL Output conv_grad_op(const GradientContext& context, const OpDef& def, std::vector<Output> inputs,
                                   const Output& like) {
  return add_node(
             context.graph(), def,
             {.inputs = std::move(inputs), .attrs = context.node().attrs(), .outputs = {{like.dtype(), like.shape()}}})
      .output();
}

TRAINHOOK_DECL Grads conv2d_grad(const GradientContext& context) {
  const Output x = context.input(0);
  const Output filter = context.input(1);
  const Output grad = context.grad();
  Grads result(2);
  if (context.needs(0)) result[0] = conv_grad_op(context, kConv2DBackpropInputOp, {shape_tensor(x), filter, grad}, x);
  if (context.needs(1))
    result[1] = conv_grad_op(context, kConv2DBackpropFilterOp, {x, shape_tensor(filter), grad}, filter);
  return result;
}

TRAINHOOK_DECL Grads max_pool_grad(const GradientContext& context) {
  const Output x = context.input(0);
  return {conv_grad_op(context, kMaxPoolGradOp, {x, context.output(), context.grad()}, x)};
}

TRAINHOOK_DECL Grads avg_pool_grad(const GradientContext& context) {
  const Output x = context.input(0);
  return {conv_grad_op(context, kAvgPoolGradOp, {shape_tensor(x), context.grad()}, x)};
}

inline constexpr OpDef kAvgPoolOp{"AvgPool", "T -> T", kAvgPoolAttrs, pool_shape, avg_pool_grad};
inline constexpr OpDef kConv2DOp{"Conv2D", "T T -> T", kConv2DAttrs, conv2d_shape, conv2d_grad};
inline constexpr OpDef kMaxPoolOp{"MaxPool", "T -> T", kMaxPoolAttrs, pool_shape, max_pool_grad};

inline constexpr std::array kConvOps{
    &kAvgPoolOp, &kAvgPoolGradOp, &kConv2DOp, &kConv2DBackpropFilterOp, &kConv2DBackpropInputOp,
    &kMaxPoolOp, &kMaxPoolGradOp};

TRAINHOOK_DECL OpFamily conv_ops() noexcept { return kConvOps; }

TRAINHOOK_DECL Dims window(const WindowSize& size) { return {1, size[0], size[1], 1}; }

TRAINHOOK_DECL std::string padding_name(Padding padding) { return padding == Padding::Same ? "SAME" : "VALID"; }

TRAINHOOK_DECL Output pool(const OpDef& def, const Output& x, const PoolOptions& options, std::string_view name) {
  return add_op(def, name, {x},
                {{"ksize", window(options.ksize)},
                 {"padding", padding_name(options.padding)},
                 {"strides", window(options.strides)}});
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL Output conv2d(Output x, Output filter, const Conv2DOptions& options, std::string_view name) {
  return detail::add_op(
      detail::kConv2DOp, name, {x, filter},
      {{"padding", detail::padding_name(options.padding)}, {"strides", detail::window(options.strides)}});
}

TRAINHOOK_DECL Output max_pool(Output x, const PoolOptions& options, std::string_view name) {
  return detail::pool(detail::kMaxPoolOp, x, options, name);
}

TRAINHOOK_DECL Output avg_pool(Output x, const PoolOptions& options, std::string_view name) {
  return detail::pool(detail::kAvgPoolOp, x, options, name);
}

}  // namespace trainhook
