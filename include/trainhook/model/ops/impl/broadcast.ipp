// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/ops/broadcast.hpp>

#include <algorithm>
#include <array>
#include <numeric>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>
#include <trainhook/model/ops/array.hpp>

namespace trainhook::detail {

inline PartialShape broadcast_axes_shape(const NodeSpec& node, std::size_t) {
  for (const Output& dims : node.inputs) require_rank(label(node), dims, 1);
  return PartialShape{kUnknownDim};
}

inline PartialShape fill_shape(const NodeSpec& node, std::size_t) {
  require_rank(label(node), node.inputs[1], 0);
  return shape_rules::dims_in<0>(node, 0);
}

inline PartialShape broadcast_to_shape(const NodeSpec& node, std::size_t) {
  const PartialShape& from = node.inputs[0].shape();
  const PartialShape to = shape_rules::dims_in<1>(node, 0);
  if (!from.has_rank() || !to.has_rank()) return to;
  Dims dims = dims_of(to);
  bool fits = from.rank() <= to.rank();
  for (std::size_t back = 1; fits && back <= from.rank(); ++back) {
    const std::int64_t dim = from[from.rank() - back];
    std::int64_t& wide = dims[dims.size() - back];
    fits = dim == 1 || may_equal(dim, wide);
    if (dim != 1 && wide == kUnknownDim) wide = dim;
  }
  if (!fits) throw InvalidArgumentError("{}: {} cannot be broadcast to {}", label(node), node.inputs[0], to);
  return shape_of(dims);
}

std::optional<std::vector<std::size_t>> reduced_axes(std::string_view op, const Output& x, const Output& indices) {
  const auto axes = constant_integers(indices);
  if (!axes || !x.shape().has_rank()) return std::nullopt;
  std::vector<std::size_t> result;
  for (const std::int64_t axis : *axes) result.push_back(normalized_axis(op, axis, x.shape().rank(), x));
  return result;
}

PartialShape reduction_shape(const NodeSpec& node, std::size_t) {
  const Output& x = node.inputs[0];
  const PartialShape& indices = node.inputs[1].shape();
  if (indices.has_rank() && indices.rank() > 1)
    throw InvalidArgumentError("{}: {} must be one axis or a vector of them", label(node), node.inputs[1]);
  const auto axes = reduced_axes(label(node), x, node.inputs[1]);
  const bool keep_dims = attr_of<bool>(node, "keep_dims");
  if (!axes) return keep_dims && x.shape().has_rank() ? unknown_of_rank(x.shape().rank()) : PartialShape();
  std::vector<std::size_t> sorted = *axes;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    throw InvalidArgumentError("{}: an axis of {} is named twice", label(node), x);
  return reduced_shape(x.shape(), *axes, keep_dims);
}

std::vector<std::size_t> reduction_axes(const GradientContext& context) {
  auto axes = reduced_axes(context.node().type(), context.input(0), context.input(1));
  if (!axes) {
    throw UnimplementedError("the gradient of {} ({}) needs constant axes and an input of known rank",
                             context.node().name(), context.node().type());
  }
  return *axes;
}

Output with_kept_dims(const GradientContext& context, const Output& value, const std::vector<std::size_t>& axes) {
  if (context.node().attr<bool>("keep_dims") || axes.empty()) return value;
  const PartialShape kept = reduced_shape(context.input(0).shape(), axes, true);
  if (std::ranges::count(kept.dims(), kUnknownDim) <= 1 && std::ranges::count(kept.dims(), 0) == 0)
    return reshape(value, dims_of(kept));
  Output result = value;
  std::vector<std::size_t> ascending = axes;
  std::sort(ascending.begin(), ascending.end());
  for (const std::size_t axis : ascending) result = expand_dims(result, static_cast<std::int64_t>(axis));
  return result;
}

Output spread(const GradientContext& context, const Output& grad, const std::vector<std::size_t>& axes) {
  const Output x = context.input(0);
  if (axes.empty()) return grad;
  const bool is_scalar = grad.shape().has_rank() && grad.shape().rank() == 0;
  if (is_scalar) return fill(shape_tensor(x), grad);
  return broadcast_to(with_kept_dims(context, grad, axes), shape_tensor(x));
}

inline Grads broadcast_to_grad(const GradientContext& context);
inline Grads fill_grad(const GradientContext& context);

inline Grads sum_grad(const GradientContext& context) {
  return {spread(context, context.grad(), reduction_axes(context)), Output()};
}

inline constexpr OpDef kBroadcastGradientArgsOp{"BroadcastGradientArgs", "T T -> T T", "T:{int32,int64}=int32",
                                                broadcast_axes_shape};

inline constexpr OpDef kBroadcastToOp{"BroadcastTo", "T Tidx -> T", "Tidx:{int32,int64}=int32", broadcast_to_shape,
                                      broadcast_to_grad};
inline constexpr OpDef kFillOp{"Fill", "index_type T -> T", "index_type:{int32,int64}=int32", fill_shape, fill_grad};
inline constexpr OpDef kSumOp{"Sum", "T Tidx -> T", "T:number Tidx:{int32,int64}=int32 keep_dims:bool=false",
                              reduction_shape, sum_grad};

inline constexpr std::array kBroadcastOps{&kBroadcastGradientArgsOp, &kBroadcastToOp, &kFillOp, &kSumOp};

OpFamily broadcast_ops() noexcept { return kBroadcastOps; }

const OpDef& sum_op() noexcept { return kSumOp; }

/// The axes of the broadcast shape of `x` and `other` over which a gradient is summed to fit `x`; nothing if only
/// running can tell.
inline std::optional<Dims> broadcast_axes(const PartialShape& x, const PartialShape& other) {
  if (!x.has_rank() || !other.has_rank()) return std::nullopt;
  const std::size_t rank = (std::max)(x.rank(), other.rank());
  Dims axes;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t back = rank - i;
    const std::int64_t mine = back <= x.rank() ? x[x.rank() - back] : 0;  // 0: a dimension that x lacks
    const std::int64_t its = back <= other.rank() ? other[other.rank() - back] : 1;
    if (mine == kUnknownDim && its != 1) return std::nullopt;
    if (back > x.rank() || (mine == 1 && its != 1)) axes.push_back(static_cast<std::int64_t>(i));
  }
  return axes;
}

Output sum_over(const Output& grad, const Dims& axes, bool keep_dims) {
  const Output indices = constant_ints(grad.graph(), axes, "Sum/reduction_indices");
  return add_op(kSumOp, {}, {grad, indices}, {{"keep_dims", keep_dims}});
}

Output sum_over(const Output& grad, const Output& axes) {
  return add_op(kSumOp, {}, {grad, axes}, {{"keep_dims", false}});
}

Output broadcast_gradient_axes(const Output& x, const Output& other) {
  return add_op(kBroadcastGradientArgsOp, {}, {x, other});
}

Output unbroadcast(const Output& grad, const Output& x, const Output& other) {
  if (x == other || (x.shape().is_fully_known() && x.shape() == other.shape())) return grad;
  if (const auto axes = broadcast_axes(x.shape(), other.shape())) {
    if (axes->empty()) return grad;
    const std::size_t rank = (std::max)(x.shape().rank(), other.shape().rank());
    const bool same_rank = x.shape().rank() == rank;
    const bool only_leading = static_cast<std::size_t>(axes->back()) < rank - x.shape().rank();
    const Output summed = sum_over(grad, *axes, same_rank);
    return same_rank || only_leading ? summed : reshape_like(summed, x);
  }
  const Output mine = shape_tensor(x);
  const Output its = shape_tensor(other);
  return reshape_to(sum_over(grad, broadcast_gradient_axes(mine, its)), mine, x.shape());
}

Output fill_value(const Output& grad) { return grad.node().type() == "Fill" ? grad.node().inputs()[1] : Output(); }

Grads fill_grad(const GradientContext& context) {
  if (!context.output().shape().has_rank())
    throw UnimplementedError("the gradient of {} (Fill) needs a known rank", context.node().name());
  Dims axes(context.output().shape().rank());
  std::iota(axes.begin(), axes.end(), 0);
  return {Output(), sum_over(context.grad(), axes, false)};
}

Grads broadcast_to_grad(const GradientContext& context) {
  const Output x = context.input(0);
  if (x.shape() == context.output().shape() && x.shape().is_fully_known()) return {context.grad(), Output()};
  return {unbroadcast(context.grad(), x, context.output()), Output()};
}

}  // namespace trainhook::detail

namespace trainhook {

Output fill(Output dims, Output value, std::string_view name) {
  return detail::add_op(detail::kFillOp, name, {dims, value});
}

Output broadcast_to(Output x, Output dims, std::string_view name) {
  return detail::add_op(detail::kBroadcastToOp, name, {x, dims});
}

}  // namespace trainhook
