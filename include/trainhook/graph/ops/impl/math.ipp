// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of math.hpp, and the definitions of its ops.
#pragma once

#include <trainhook/graph/ops/math.hpp>

#include <array>
#include <string>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/gradient_registry.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>
#include <trainhook/graph/ops/slice.hpp>

namespace trainhook::detail {

/// Equal and NotEqual may be told to accept shapes that do not broadcast.
TRAINHOOK_DECL PartialShape equality_shape(const NodeSpec& node, std::size_t index) {
  return attr_of<bool>(node, "incompatible_shape_error") ? shape_rules::broadcast(node, index) : PartialShape();
}

/// The gradients of a broadcasting op from its partial ones; `left` and `right` are called only if they are needed.
template <class Left, class Right>
Grads broadcasting(const GradientContext& context, Left left, Right right) {
  const Output x = context.input(0);
  const Output y = context.input(1);
  Grads result(2);
  if (context.needs(0)) result[0] = unbroadcast(context, left(x, y), x, y);
  if (context.needs(1)) result[1] = unbroadcast(context, right(x, y), y, x);
  return result;
}

TRAINHOOK_DECL Grads add_grad(const GradientContext& c) {
  return broadcasting(
      c, [&](const Output&, const Output&) { return c.grad(); },
      [&](const Output&, const Output&) { return c.grad(); });
}

TRAINHOOK_DECL Grads subtract_grad(const GradientContext& c) {
  return broadcasting(
      c, [&](const Output&, const Output&) { return c.grad(); },
      [&](const Output&, const Output&) { return negative(c.grad()); });
}

TRAINHOOK_DECL Grads multiply_grad(const GradientContext& c) {
  return broadcasting(
      c, [&](const Output&, const Output& y) { return multiply(c.grad(), y); },
      [&](const Output& x, const Output&) { return multiply(x, c.grad()); });
}

TRAINHOOK_DECL Grads divide_grad(const GradientContext& c) {
  return broadcasting(
      c, [&](const Output&, const Output& y) { return divide(c.grad(), y); },
      [&](const Output& x, const Output& y) { return multiply(c.grad(), divide(divide(negative(x), y), y)); });
}

TRAINHOOK_DECL Grads pow_grad(const GradientContext& c) {
  return broadcasting(
      c, [&](const Output& x, const Output& y) { return multiply(multiply(c.grad(), y), pow(x, subtract(y, 1))); },
      [&](const Output& x, const Output&) {  // the logarithm of what is not positive counts as zero
        const Output is_positive = greater(x, 0);
        const Output safe = log(where(is_positive, x, ones_like(x)));
        return multiply(multiply(c.grad(), c.output()), where(is_positive, safe, zeros_like(x)));
      });
}

TRAINHOOK_DECL Grads squared_difference_grad(const GradientContext& c) {
  return broadcasting(
      c, [&](const Output& x, const Output& y) { return multiply(multiply(2, c.grad()), subtract(x, y)); },
      [&](const Output& x, const Output& y) { return multiply(multiply(-2, c.grad()), subtract(x, y)); });
}

TRAINHOOK_DECL Grads maximum_grad(const GradientContext& c) {
  return broadcasting(
      c, [&](const Output& x, const Output& y) { return where(greater_equal(x, y), c.grad(), 0); },
      [&](const Output& x, const Output& y) { return where(greater_equal(x, y), 0, c.grad()); });
}

TRAINHOOK_DECL Grads minimum_grad(const GradientContext& c) {
  return broadcasting(
      c, [&](const Output& x, const Output& y) { return where(less_equal(x, y), c.grad(), 0); },
      [&](const Output& x, const Output& y) { return where(less_equal(x, y), 0, c.grad()); });
}

TRAINHOOK_DECL Grads add_n_grad(const GradientContext& c) { return Grads(c.input_count(), c.grad()); }
TRAINHOOK_DECL Grads abs_grad(const GradientContext& c) { return {multiply(c.grad(), sign(c.input(0)))}; }
TRAINHOOK_DECL Grads cos_grad(const GradientContext& c) { return {negative(multiply(c.grad(), sin(c.input(0))))}; }
TRAINHOOK_DECL Grads exp_grad(const GradientContext& c) { return {multiply(c.grad(), c.output())}; }
TRAINHOOK_DECL Grads log_grad(const GradientContext& c) { return {divide(c.grad(), c.input(0))}; }
TRAINHOOK_DECL Grads log1p_grad(const GradientContext& c) { return {divide(c.grad(), add(c.input(0), 1))}; }
TRAINHOOK_DECL Grads negative_grad(const GradientContext& c) { return {negative(c.grad())}; }
TRAINHOOK_DECL Grads reciprocal_grad(const GradientContext& c) {
  return {multiply(negative(c.grad()), square(c.output()))};
}
TRAINHOOK_DECL Grads rsqrt_grad(const GradientContext& c) {
  return {multiply(multiply(c.grad(), -0.5), divide(c.output(), c.input(0)))};
}
TRAINHOOK_DECL Grads sin_grad(const GradientContext& c) { return {multiply(c.grad(), cos(c.input(0)))}; }
TRAINHOOK_DECL Grads sqrt_grad(const GradientContext& c) { return {divide(multiply(c.grad(), 0.5), c.output())}; }
TRAINHOOK_DECL Grads square_grad(const GradientContext& c) { return {multiply(c.grad(), multiply(c.input(0), 2))}; }

inline constexpr std::string_view kEquality = "incompatible_shape_error:bool=true";

inline constexpr std::array kMathOps{
    OpDef{"Abs", "T -> T", "T:number", shape_rules::like<0>, abs_grad},
    OpDef{"Add", "T T -> T", "T:{string,number}", shape_rules::broadcast},
    OpDef{"AddN", "N*T -> T", "T:number", shape_rules::merged, add_n_grad},
    OpDef{"AddV2", "T T -> T", "T:number", shape_rules::broadcast, add_grad},
    OpDef{"Cos", "T -> T", "T:inexact", shape_rules::like<0>, cos_grad},
    OpDef{"Equal", "T T -> bool", kEquality, equality_shape, no_gradient},
    OpDef{"Exp", "T -> T", "T:inexact", shape_rules::like<0>, exp_grad},
    OpDef{"Floor", "T -> T", "T:floating", shape_rules::like<0>, no_gradient},
    OpDef{"FloorDiv", "T T -> T", "T:number", shape_rules::broadcast, no_gradient},
    OpDef{"FloorMod", "T T -> T", "T:number", shape_rules::broadcast, no_gradient},
    OpDef{"Greater", "T T -> bool", "T:real", shape_rules::broadcast, no_gradient},
    OpDef{"GreaterEqual", "T T -> bool", "T:real", shape_rules::broadcast, no_gradient},
    OpDef{"IsFinite", "T -> bool", "T:floating", shape_rules::like<0>, no_gradient},
    OpDef{"IsInf", "T -> bool", "T:floating", shape_rules::like<0>, no_gradient},
    OpDef{"IsNan", "T -> bool", "T:floating", shape_rules::like<0>, no_gradient},
    OpDef{"Less", "T T -> bool", "T:real", shape_rules::broadcast, no_gradient},
    OpDef{"LessEqual", "T T -> bool", "T:real", shape_rules::broadcast, no_gradient},
    OpDef{"Log", "T -> T", "T:inexact", shape_rules::like<0>, log_grad},
    OpDef{"Log1p", "T -> T", "T:inexact", shape_rules::like<0>, log1p_grad},
    OpDef{"LogicalAnd", "bool bool -> bool", "", shape_rules::broadcast, no_gradient},
    OpDef{"LogicalNot", "bool -> bool", "", shape_rules::like<0>, no_gradient},
    OpDef{"LogicalOr", "bool bool -> bool", "", shape_rules::broadcast, no_gradient},
    OpDef{"Maximum", "T T -> T", "T:number", shape_rules::broadcast, maximum_grad},
    OpDef{"Minimum", "T T -> T", "T:number", shape_rules::broadcast, minimum_grad},
    OpDef{"Mul", "T T -> T", "T:number", shape_rules::broadcast, multiply_grad},
    OpDef{"Neg", "T -> T", "T:number", shape_rules::like<0>, negative_grad},
    OpDef{"NotEqual", "T T -> bool", kEquality, equality_shape, no_gradient},
    OpDef{"Pow", "T T -> T", "T:number", shape_rules::broadcast, pow_grad},
    OpDef{"RealDiv", "T T -> T", "T:number", shape_rules::broadcast, divide_grad},
    OpDef{"Reciprocal", "T -> T", "T:inexact", shape_rules::like<0>, reciprocal_grad},
    OpDef{"Rsqrt", "T -> T", "T:inexact", shape_rules::like<0>, rsqrt_grad},
    OpDef{"Sign", "T -> T", "T:number", shape_rules::like<0>, no_gradient},
    OpDef{"Sin", "T -> T", "T:inexact", shape_rules::like<0>, sin_grad},
    OpDef{"Sqrt", "T -> T", "T:inexact", shape_rules::like<0>, sqrt_grad},
    OpDef{"Square", "T -> T", "T:number", shape_rules::like<0>, square_grad},
    OpDef{"SquaredDifference", "T T -> T", "T:number", shape_rules::broadcast, squared_difference_grad},
    OpDef{"Sub", "T T -> T", "T:number", shape_rules::broadcast, subtract_grad},
};

TRAINHOOK_DECL std::span<const OpDef> math_ops() noexcept { return kMathOps; }

TRAINHOOK_DECL Output unary_op(std::string_view type, const Output& x, std::string_view name) {
  return add_op(math_ops(), type, name, {x});
}

TRAINHOOK_DECL Output binary_op(std::string_view type, const Operand& left, const Operand& right,
                                std::string_view name) {
  const auto [x, y] = both(type, left, right);
  return add_op(math_ops(), type, name, {x, y});
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL Output add(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op("AddV2", x, y, name);
}

TRAINHOOK_DECL Output subtract(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op("Sub", x, y, name);
}

TRAINHOOK_DECL Output multiply(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op("Mul", x, y, name);
}

TRAINHOOK_DECL Output divide(const Operand& x, const Operand& y, std::string_view name) {
  const auto [left, right] = detail::both("RealDiv", x, y);
  detail::require_dtype("RealDiv", left, !is_integer(left.dtype()), "a floating dtype; cast() it or use floordiv()");
  return detail::binary_op("RealDiv", left, right, name);
}

TRAINHOOK_DECL Output floordiv(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op("FloorDiv", x, y, name);
}

TRAINHOOK_DECL Output floormod(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op("FloorMod", x, y, name);
}

TRAINHOOK_DECL Output pow(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op("Pow", x, y, name);
}

TRAINHOOK_DECL Output squared_difference(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op("SquaredDifference", x, y, name);
}

TRAINHOOK_DECL Output maximum(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op("Maximum", x, y, name);
}

TRAINHOOK_DECL Output minimum(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op("Minimum", x, y, name);
}

TRAINHOOK_DECL Output negative(Output x, std::string_view name) { return detail::unary_op("Neg", x, name); }

TRAINHOOK_DECL Output abs(Output x, std::string_view name) { return detail::unary_op("Abs", x, name); }

TRAINHOOK_DECL Output sign(Output x, std::string_view name) { return detail::unary_op("Sign", x, name); }

TRAINHOOK_DECL Output square(Output x, std::string_view name) { return detail::unary_op("Square", x, name); }

TRAINHOOK_DECL Output exp(Output x, std::string_view name) { return detail::unary_op("Exp", x, name); }

TRAINHOOK_DECL Output log(Output x, std::string_view name) { return detail::unary_op("Log", x, name); }

TRAINHOOK_DECL Output log1p(Output x, std::string_view name) { return detail::unary_op("Log1p", x, name); }

TRAINHOOK_DECL Output sqrt(Output x, std::string_view name) { return detail::unary_op("Sqrt", x, name); }

TRAINHOOK_DECL Output rsqrt(Output x, std::string_view name) { return detail::unary_op("Rsqrt", x, name); }

TRAINHOOK_DECL Output reciprocal(Output x, std::string_view name) { return detail::unary_op("Reciprocal", x, name); }

TRAINHOOK_DECL Output sin(Output x, std::string_view name) { return detail::unary_op("Sin", x, name); }

TRAINHOOK_DECL Output cos(Output x, std::string_view name) { return detail::unary_op("Cos", x, name); }

TRAINHOOK_DECL Output floor(Output x, std::string_view name) { return detail::unary_op("Floor", x, name); }

TRAINHOOK_DECL Output equal(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op("Equal", x, y, name);
}

TRAINHOOK_DECL Output not_equal(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op("NotEqual", x, y, name);
}

TRAINHOOK_DECL Output less(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op("Less", x, y, name);
}

TRAINHOOK_DECL Output less_equal(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op("LessEqual", x, y, name);
}

TRAINHOOK_DECL Output greater(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op("Greater", x, y, name);
}

TRAINHOOK_DECL Output greater_equal(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op("GreaterEqual", x, y, name);
}

TRAINHOOK_DECL Output is_finite(Output x, std::string_view name) { return detail::unary_op("IsFinite", x, name); }

TRAINHOOK_DECL Output is_nan(Output x, std::string_view name) { return detail::unary_op("IsNan", x, name); }

TRAINHOOK_DECL Output is_inf(Output x, std::string_view name) { return detail::unary_op("IsInf", x, name); }

TRAINHOOK_DECL Output logical_and(Output x, Output y, std::string_view name) {
  return detail::binary_op("LogicalAnd", x, y, name);
}

TRAINHOOK_DECL Output logical_or(Output x, Output y, std::string_view name) {
  return detail::binary_op("LogicalOr", x, y, name);
}

TRAINHOOK_DECL Output logical_not(Output x, std::string_view name) { return detail::unary_op("LogicalNot", x, name); }

TRAINHOOK_DECL Output add_n(const std::vector<Output>& inputs, std::string_view name) {
  if (inputs.empty()) throw InvalidArgumentError("AddN needs at least one input");
  return inputs.size() == 1 ? inputs.front() : detail::add_op(detail::math_ops(), "AddN", name, inputs);
}

TRAINHOOK_DECL Output clip_by_value(Output value, const Operand& low, const Operand& high, std::string_view name) {
  Graph& graph = detail::graph_of("clip_by_value", value);
  const Graph::Scope scope = graph.name_scope(name);
  const std::string whole = graph.current_scope();
  return maximum(minimum(value, high), low, whole);
}

}  // namespace trainhook
