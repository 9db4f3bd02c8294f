// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/ops/matrix.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/operand.hpp>
#include <trainhook/graph/ops/cast.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>
#include <trainhook/model/ops/array.hpp>
#include <trainhook/model/ops/broadcast.hpp>
#include <trainhook/model/ops/math.hpp>
#include <trainhook/model/ops/slice.hpp>

namespace trainhook::detail {

inline PartialShape matmul_shape(const NodeSpec& node, std::size_t) {
  const Output& a = node.inputs[0];
  const Output& b = node.inputs[1];
  const bool ta = attr_of<bool>(node, "transpose_a");
  const bool tb = attr_of<bool>(node, "transpose_b");
  for (const Output& x : node.inputs) require_rank(label(node), x, 2);
  const auto dim = [](const Output& x, std::size_t axis) {
    return x.shape().has_rank() ? x.shape()[axis] : kUnknownDim;
  };
  const std::int64_t inner_a = dim(a, ta ? 0 : 1);
  const std::int64_t inner_b = dim(b, tb ? 1 : 0);
  if (!may_equal(inner_a, inner_b)) {
    throw InvalidArgumentError("{}: {}{} and {}{} have inner dimensions {} and {}", label(node), a,
                               ta ? " transposed" : "", b, tb ? " transposed" : "", inner_a, inner_b);
  }
  return PartialShape{dim(a, ta ? 1 : 0), dim(b, tb ? 0 : 1)};
}

inline PartialShape arg_extreme_shape(const NodeSpec& node, std::size_t) {
  require_rank(label(node), node.inputs[1], 0);
  const auto axes = reduced_axes(label(node), node.inputs[0], node.inputs[1]);
  if (axes) return reduced_shape(node.inputs[0].shape(), *axes, false);
  const PartialShape& shape = node.inputs[0].shape();
  return shape.has_rank() ? unknown_of_rank(shape.rank() - (std::min<std::size_t>)(1, shape.rank())) : PartialShape();
}

inline Output matmul_of(const Output& a, const Output& b, bool transpose_a, bool transpose_b) {
  return matmul(a, b, {.transpose_a = transpose_a, .transpose_b = transpose_b});
}

inline Grads matmul_grad(const GradientContext& context) {
  const bool ta = context.node().attr<bool>("transpose_a");
  const bool tb = context.node().attr<bool>("transpose_b");
  const Output a = context.input(0);
  const Output b = context.input(1);
  const Output grad = context.grad();
  Grads result(2);
  if (context.needs(0)) result[0] = ta ? matmul_of(b, grad, tb, true) : matmul_of(grad, b, false, !tb);
  if (context.needs(1)) result[1] = tb ? matmul_of(grad, a, true, ta) : matmul_of(a, grad, !ta, false);
  return result;
}

/// How many elements each mean was taken of, in the dtype of the gradient.
inline Output mean_count(const GradientContext& context, const std::vector<std::size_t>& axes) {
  const Output x = context.input(0);
  std::int64_t known = 1;
  for (const std::size_t axis : axes)
    known = x.shape()[axis] == kUnknownDim || known == kUnknownDim ? kUnknownDim : known * x.shape()[axis];
  if (known != kUnknownDim) return Operand(known).beside(x, "count");
  const bool over_all = axes.size() == x.shape().rank();
  if (over_all) return cast(size(x), x.dtype());
  const Output shrunk = cast(size(context.output()), x.dtype());
  return divide(cast(size(x), x.dtype()), maximum(shrunk, 1));
}

inline Grads mean_grad(const GradientContext& context) {
  const std::vector<std::size_t> axes = reduction_axes(context);
  const Output share = divide(context.grad(), mean_count(context, axes));
  return {spread(context, share, axes), Output()};
}

/// The gradient goes to the elements that are the extreme, shared evenly among equals.
inline Grads extreme_grad(const GradientContext& context) {
  const Output x = context.input(0);
  const std::vector<std::size_t> axes = reduction_axes(context);
  std::vector<std::int64_t> signed_axes(axes.begin(), axes.end());
  const Output chosen = cast(equal(with_kept_dims(context, context.output(), axes), x), x.dtype());
  const Output share = divide(chosen, reduce_sum(chosen, {.axis = signed_axes, .keep_dims = true}));
  return {multiply(share, with_kept_dims(context, context.grad(), axes)), Output()};
}

/// The product of the other elements: along each axis, of those before and those after the element. A division of the
/// whole product by the element would fail at zeros.
inline Grads prod_grad(const GradientContext& context) {
  const std::vector<std::size_t> axes = reduction_axes(context);
  if (axes.empty()) return {context.grad(), Output()};
  Output product = context.input(0);
  Output result = with_kept_dims(context, context.grad(), axes);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::int64_t>(axes[i]);
    const Output before = cumprod(product, {.axis = axis, .exclusive = true});
    const Output after = cumprod(product, {.axis = axis, .exclusive = true, .reverse = true});
    result = multiply(result, multiply(before, after));
    if (i + 1 < axes.size()) product = reduce_prod(product, {.axis = Dims{axis}, .keep_dims = true});
  }
  return {result, Output()};
}

inline CumulativeOptions towards_start(const GradientContext& context) {
  return {.exclusive = context.node().attr<bool>("exclusive"), .reverse = !context.node().attr<bool>("reverse")};
}

inline Output cumulative(const OpDef& def, const Output& x, const Output& axis, const CumulativeOptions& options,
                         std::string_view name) {
  return add_op(def, name, {x, axis}, {{"exclusive", options.exclusive}, {"reverse", options.reverse}});
}

inline Grads cumsum_grad(const GradientContext& context);
inline Grads cumprod_grad(const GradientContext& context);

inline constexpr std::string_view kCumulative =
    "T:number Tidx:{int32,int64}=int32 exclusive:bool=false reverse:bool=false";
inline constexpr OpDef kCumprodOp{"Cumprod", "T Tidx -> T", kCumulative, shape_rules::like<0>, cumprod_grad};
inline constexpr OpDef kCumsumOp{"Cumsum", "T Tidx -> T", kCumulative, shape_rules::like<0>, cumsum_grad};

Grads cumsum_grad(const GradientContext& context) {
  return {cumulative(kCumsumOp, context.grad(), context.input(1), towards_start(context), {}), Output()};
}

/// As in TensorFlow, an element that is zero gets no gradient.
Grads cumprod_grad(const GradientContext& context) {
  const Output x = context.input(0);
  const Output shares = multiply(context.grad(), context.output());
  const Output sum = cumulative(kCumsumOp, shares, context.input(1), towards_start(context), {});
  return {where(equal(x, 0), 0, divide(sum, x)), Output()};
}

inline constexpr std::string_view kLogical = "Tidx:{int32,int64}=int32 keep_dims:bool=false";
inline constexpr std::string_view kNumeric = "T:number Tidx:{int32,int64}=int32 keep_dims:bool=false";
inline constexpr std::string_view kOrdered = "T:real Tidx:{int32,int64}=int32 keep_dims:bool=false";
inline constexpr std::string_view kArgExtreme = "T:real Tidx:{int32,int64}=int32 output_type:{int32,int64}=int64";

inline constexpr OpDef kAllOp{"All", "bool Tidx -> bool", kLogical, reduction_shape, no_gradient};
inline constexpr OpDef kAnyOp{"Any", "bool Tidx -> bool", kLogical, reduction_shape, no_gradient};
inline constexpr OpDef kArgMaxOp{"ArgMax", "T Tidx -> output_type", kArgExtreme, arg_extreme_shape, no_gradient};
inline constexpr OpDef kArgMinOp{"ArgMin", "T Tidx -> output_type", kArgExtreme, arg_extreme_shape, no_gradient};
inline constexpr OpDef kMatMulOp{
    "MatMul", "T T -> T",
    "T:{int32,int64,uint8,uint16,uint32,uint64,inexact} transpose_a:bool=false transpose_b:bool=false", matmul_shape,
    matmul_grad};
inline constexpr OpDef kMaxOp{"Max", "T Tidx -> T", kOrdered, reduction_shape, extreme_grad};
inline constexpr OpDef kMeanOp{"Mean", "T Tidx -> T", kNumeric, reduction_shape, mean_grad};
inline constexpr OpDef kMinOp{"Min", "T Tidx -> T", kOrdered, reduction_shape, extreme_grad};
inline constexpr OpDef kProdOp{"Prod", "T Tidx -> T", kNumeric, reduction_shape, prod_grad};

inline constexpr std::array kMatrixOps{&kAllOp,    &kAnyOp, &kArgMaxOp, &kArgMinOp, &kCumprodOp, &kCumsumOp,
                                       &kMatMulOp, &kMaxOp, &kMeanOp,   &kMinOp,    &kProdOp};

OpFamily matrix_ops() noexcept { return kMatrixOps; }

Output sum_of_last(const Output& x) {
  return reduce_sum(x, {.axis = std::vector<std::int64_t>{-1}, .keep_dims = true});
}

inline Output reduction(const OpDef& def, const Output& x, const ReduceOptions& options, std::string_view name) {
  Graph& graph = graph_of(def.type, x);
  Dims axes;
  if (options.axis) {
    axes = *options.axis;
  } else if (x.shape().has_rank()) {
    for (std::size_t i = 0; i < x.shape().rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  } else {
    throw InvalidArgumentError("{}: {} has no known rank; name the axes", def.type, x);
  }
  const std::string base(name.empty() ? def.type : name);
  const Output indices = constant_ints(graph, axes, base + "/reduction_indices");
  return add_op(def, base, {x, indices}, {{"keep_dims", options.keep_dims}});
}

inline Output cumulative(const OpDef& def, const Output& x, const CumulativeOptions& options, std::string_view name) {
  const std::string base(name.empty() ? def.type : name);
  const Output axis = constant_int(graph_of(def.type, x), options.axis, base + "/axis");
  return cumulative(def, x, axis, options, base);
}

inline Output arg_extreme(const OpDef& def, const Output& x, std::int64_t axis, DType dtype, std::string_view name) {
  const std::string base(name.empty() ? def.type : name);
  const Output dimension = constant_int(graph_of(def.type, x), axis, base + "/dimension");
  return add_op(def, base, {x, dimension}, {{"output_type", dtype}});
}

}  // namespace trainhook::detail

namespace trainhook {

Output matmul(Output a, Output b, MatMulOptions options, std::string_view name) {
  const auto is_batch = [](const Output& x) { return x.has_value() && x.shape().has_rank() && x.shape().rank() > 2; };
  if (is_batch(a) || is_batch(b))
    return detail::batch_matmul(a, b, options.transpose_a, options.transpose_b, name.empty() ? "MatMul" : name);
  return detail::add_op(detail::kMatMulOp, name, {a, b},
                        {{"transpose_a", options.transpose_a}, {"transpose_b", options.transpose_b}});
}

Output reduce_sum(Output x, const ReduceOptions& options, std::string_view name) {
  return detail::reduction(detail::sum_op(), x, options, name);
}

Output reduce_mean(Output x, const ReduceOptions& options, std::string_view name) {
  return detail::reduction(detail::kMeanOp, x, options, name);
}

Output reduce_prod(Output x, const ReduceOptions& options, std::string_view name) {
  return detail::reduction(detail::kProdOp, x, options, name);
}

Output reduce_max(Output x, const ReduceOptions& options, std::string_view name) {
  return detail::reduction(detail::kMaxOp, x, options, name);
}

Output reduce_min(Output x, const ReduceOptions& options, std::string_view name) {
  return detail::reduction(detail::kMinOp, x, options, name);
}

Output reduce_all(Output x, const ReduceOptions& options, std::string_view name) {
  return detail::reduction(detail::kAllOp, x, options, name);
}

Output reduce_any(Output x, const ReduceOptions& options, std::string_view name) {
  return detail::reduction(detail::kAnyOp, x, options, name);
}

Output cumsum(Output x, const CumulativeOptions& options, std::string_view name) {
  return detail::cumulative(detail::kCumsumOp, x, options, name);
}

Output cumprod(Output x, const CumulativeOptions& options, std::string_view name) {
  return detail::cumulative(detail::kCumprodOp, x, options, name);
}

Output argmax(Output x, std::int64_t axis, DType dtype, std::string_view name) {
  return detail::arg_extreme(detail::kArgMaxOp, x, axis, dtype, name);
}

Output argmin(Output x, std::int64_t axis, DType dtype, std::string_view name) {
  return detail::arg_extreme(detail::kArgMinOp, x, axis, dtype, name);
}

}  // namespace trainhook
