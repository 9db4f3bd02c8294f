// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of math_gradients.hpp.
#pragma once

#include <trainhook/graph/math_gradients.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/array_ops.hpp>
#include <trainhook/graph/constant_ops.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/math_ops.hpp>
#include <trainhook/graph/matrix_ops.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/operand.hpp>
#include <trainhook/graph/slice_ops.hpp>

namespace trainhook::detail {

/// Which axes of the broadcast shape of `x` and `other` a gradient is summed over to fit `x`; nothing where only
/// running can tell.
TRAINHOOK_DECL std::optional<std::vector<std::int64_t>> broadcast_axes(const PartialShape& x,
                                                                       const PartialShape& other) {
  if (!x.has_rank() || !other.has_rank()) return std::nullopt;
  const std::size_t rank = std::max(x.rank(), other.rank());
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t back = rank - i;
    const std::int64_t mine = back <= x.rank() ? x[x.rank() - back] : 0;  // 0: a dimension that x lacks
    const std::int64_t its = back <= other.rank() ? other[other.rank() - back] : 1;
    if (mine == kUnknownDim && its != 1) return std::nullopt;
    if (back > x.rank() || (mine == 1 && its != 1)) axes.push_back(static_cast<std::int64_t>(i));
  }
  return axes;
}

TRAINHOOK_DECL Output unbroadcast(const Output& grad, const Output& x, const Output& other) {
  if (x == other || (x.shape().is_fully_known() && x.shape() == other.shape())) return grad;
  if (const auto axes = broadcast_axes(x.shape(), other.shape())) {
    if (axes->empty()) return grad;
    const std::size_t rank = std::max(x.shape().rank(), other.shape().rank());
    const bool same_rank = x.shape().rank() == rank;
    const bool only_leading = static_cast<std::size_t>(axes->back()) < rank - x.shape().rank();
    const Output summed = reduce_sum(grad, {.axis = *axes, .keep_dims = same_rank});
    return same_rank || only_leading ? summed : reshape_like(summed, x);
  }
  Graph& graph = x.graph();
  const Output mine = shape_tensor(x);
  const Output its = shape_tensor(other);
  NodeSpec spec{.type = "BroadcastGradientArgs", .inputs = {mine, its}, .attrs = {{"T", DType::Int32}}};
  spec.outputs = {{DType::Int32, PartialShape{kUnknownDim}}, {DType::Int32, PartialShape{kUnknownDim}}};
  const Output axes = graph.add(std::move(spec)).output(0);
  const Output summed = add_op(graph, "Sum", {}, {grad, axes},
                               {{"T", grad.dtype()}, {"Tidx", DType::Int32}, {"keep_dims", false}}, grad.dtype(), {});
  return add_op(graph, "Reshape", {}, {summed, mine}, {{"T", grad.dtype()}, {"Tshape", DType::Int32}}, grad.dtype(),
                x.shape());
}

TRAINHOOK_DECL Output matmul_of(const Output& a, const Output& b, bool transpose_a, bool transpose_b) {
  return matmul(a, b, {.transpose_a = transpose_a, .transpose_b = transpose_b});
}

TRAINHOOK_DECL Grads matmul_grad(const GradientContext& context) {
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

/// Which axes a reduction goes over. @throws UnimplementedError where they are not constant or the rank is unknown.
TRAINHOOK_DECL std::vector<std::size_t> reduction_axes(const GradientContext& context) {
  const Output x = context.input(0);
  const auto axes = constant_integers(context.input(1));
  if (!axes || !x.shape().has_rank()) {
    throw UnimplementedError("the gradient of {} ({}) needs constant axes and an input of known rank",
                             context.node().name(), context.node().type());
  }
  std::vector<std::size_t> result;
  for (const std::int64_t axis : *axes)
    result.push_back(normalized_axis(context.node().type(), axis, x.shape().rank(), x));
  return result;
}

/// `value`, a result of the reduction (or its gradient), with the reduced dimensions as extents of 1.
TRAINHOOK_DECL Output with_kept_dims(const GradientContext& context, const Output& value,
                                     const std::vector<std::size_t>& axes) {
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

TRAINHOOK_DECL Output spread(const GradientContext& context, const Output& grad, const std::vector<std::size_t>& axes) {
  const Output x = context.input(0);
  if (axes.empty()) return grad;
  const bool is_scalar = grad.shape().has_rank() && grad.shape().rank() == 0;
  if (is_scalar) return fill(shape_tensor(x), grad);
  return broadcast_to(with_kept_dims(context, grad, axes), shape_tensor(x));
}

/// How many elements each mean was taken of, in the dtype of the gradient.
TRAINHOOK_DECL Output mean_count(const GradientContext& context, const std::vector<std::size_t>& axes) {
  const Output x = context.input(0);
  std::int64_t known = 1;
  for (const std::size_t axis : axes) {
    if (x.shape()[axis] == kUnknownDim || known == kUnknownDim) {
      known = kUnknownDim;
    } else {
      known *= x.shape()[axis];
    }
  }
  if (known != kUnknownDim) return Operand(known).beside(x, "count");
  const bool over_all = axes.size() == x.shape().rank();
  if (over_all) return cast(size(x), x.dtype());
  const Output shrunk = cast(size(context.output()), x.dtype());
  return divide(cast(size(x), x.dtype()), maximum(shrunk, 1));
}

TRAINHOOK_DECL Grads sum_grad(const GradientContext& context) {
  return {spread(context, context.grad(), reduction_axes(context)), Output()};
}

TRAINHOOK_DECL Grads mean_grad(const GradientContext& context) {
  const std::vector<std::size_t> axes = reduction_axes(context);
  const Output share = divide(context.grad(), mean_count(context, axes));
  return {spread(context, share, axes), Output()};
}

/// The gradient goes to the elements that are the extreme, shared evenly among equals.
TRAINHOOK_DECL Grads extreme_grad(const GradientContext& context) {
  const Output x = context.input(0);
  const std::vector<std::size_t> axes = reduction_axes(context);
  std::vector<std::int64_t> signed_axes(axes.begin(), axes.end());
  const Output chosen = cast(equal(with_kept_dims(context, context.output(), axes), x), x.dtype());
  const Output share = divide(chosen, reduce_sum(chosen, {.axis = signed_axes, .keep_dims = true}));
  return {multiply(share, with_kept_dims(context, context.grad(), axes)), Output()};
}

TRAINHOOK_DECL void add_reduction_gradients(GradientRegistry& registry) {
  for (const char* type : {"All", "Any"}) registry.add_not_differentiable(type);
  registry.add("MatMul", matmul_grad);
  registry.add("Sum", sum_grad);
  registry.add("Mean", mean_grad);
  registry.add("Max", extreme_grad);
  registry.add("Min", extreme_grad);
  registry.add("BroadcastTo", [](const GradientContext& context) {
    const Output x = context.input(0);
    return Grads{x.shape() == context.output().shape() && x.shape().is_fully_known()
                     ? context.grad()
                     : unbroadcast(context.grad(), x, context.output()),
                 Output()};
  });
  registry.add("AddN", [](const GradientContext& context) { return Grads(context.input_count(), context.grad()); });
  registry.add("L2Loss",
               [](const GradientContext& context) { return Grads{multiply(context.input(0), context.grad())}; });
}

TRAINHOOK_DECL void add_binary_gradients(GradientRegistry& registry) {
  using C = const GradientContext&;
  using O = const Output&;
  registry.add("AddV2", broadcasting([](C c, O, O) { return c.grad(); }, [](C c, O, O) { return c.grad(); }));
  registry.add("Sub", broadcasting([](C c, O, O) { return c.grad(); }, [](C c, O, O) { return negative(c.grad()); }));
  registry.add("Mul", broadcasting([](C c, O, O y) { return multiply(c.grad(), y); },
                                   [](C c, O x, O) { return multiply(x, c.grad()); }));
  registry.add("RealDiv",
               broadcasting([](C c, O, O y) { return divide(c.grad(), y); },
                            [](C c, O x, O y) { return multiply(c.grad(), divide(divide(negative(x), y), y)); }));
  registry.add("Pow",
               broadcasting([](C c, O x, O y) { return multiply(multiply(c.grad(), y), pow(x, subtract(y, 1))); },
                            [](C c, O x, O) {  // the logarithm of what is not positive counts as zero
                              const Output is_positive = greater(x, 0);
                              const Output safe = log(where(is_positive, x, ones_like(x)));
                              return multiply(multiply(c.grad(), c.output()), where(is_positive, safe, zeros_like(x)));
                            }));
  registry.add("SquaredDifference",
               broadcasting([](C c, O x, O y) { return multiply(multiply(2, c.grad()), subtract(x, y)); },
                            [](C c, O x, O y) { return multiply(multiply(-2, c.grad()), subtract(x, y)); }));
  const auto pick = [](C c, Output condition, bool where_true) {
    return where_true ? where(condition, c.grad(), 0) : where(condition, 0, c.grad());
  };
  registry.add("Maximum", broadcasting([pick](C c, O x, O y) { return pick(c, greater_equal(x, y), true); },
                                       [pick](C c, O x, O y) { return pick(c, greater_equal(x, y), false); }));
  registry.add("Minimum", broadcasting([pick](C c, O x, O y) { return pick(c, less_equal(x, y), true); },
                                       [pick](C c, O x, O y) { return pick(c, less_equal(x, y), false); }));
  for (const char* type : {"FloorDiv", "FloorMod", "Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"})
    registry.add_not_differentiable(type);
  registry.add("SelectV2", [](C c) {
    Grads result(3);
    if (c.needs(1)) result[1] = unbroadcast(where(c.input(0), c.grad(), 0), c.input(1), c.output());
    if (c.needs(2)) result[2] = unbroadcast(where(c.input(0), 0, c.grad()), c.input(2), c.output());
    return result;
  });
}

TRAINHOOK_DECL void add_unary_gradients(GradientRegistry& registry) {
  using C = const GradientContext&;
  using O = const Output&;
  registry.add("Neg", elementwise([](C, O, O g) { return negative(g); }));
  registry.add("Abs", elementwise([](C, O x, O g) { return multiply(g, sign(x)); }));
  registry.add("Exp", elementwise([](C c, O, O g) { return multiply(g, c.output()); }));
  registry.add("Log", elementwise([](C, O x, O g) { return divide(g, x); }));
  registry.add("Log1p", elementwise([](C, O x, O g) { return divide(g, add(x, 1)); }));
  registry.add("Sqrt", elementwise([](C c, O, O g) { return divide(multiply(g, 0.5), c.output()); }));
  registry.add("Rsqrt", elementwise([](C c, O x, O g) { return multiply(multiply(g, -0.5), divide(c.output(), x)); }));
  registry.add("Reciprocal", elementwise([](C c, O, O g) { return multiply(negative(g), square(c.output())); }));
  registry.add("Square", elementwise([](C, O x, O g) { return multiply(g, multiply(x, 2)); }));
  registry.add("Sin", elementwise([](C, O x, O g) { return multiply(g, cos(x)); }));
  registry.add("Cos", elementwise([](C, O x, O g) { return negative(multiply(g, sin(x))); }));
  for (const char* type : {"Sign", "Floor", "IsFinite", "IsNan", "IsInf", "LogicalAnd", "LogicalOr", "LogicalNot"})
    registry.add_not_differentiable(type);
}

}  // namespace trainhook::detail
