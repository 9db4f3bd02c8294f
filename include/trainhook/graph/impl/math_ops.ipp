// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of math_ops.hpp.
#pragma once

#include <trainhook/graph/math_ops.hpp>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/array_ops.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL Output numeric_unary(std::string_view type, const Output& x, std::string_view name) {
  require_numeric(type, x);
  return unary_op(type, x, name);
}

TRAINHOOK_DECL Output floating_unary(std::string_view type, const Output& x, std::string_view name) {
  graph_of(type, x);
  require_dtype(type, x, is_floating(x.dtype()) || is_complex(x.dtype()), "a floating dtype; cast() it");
  return unary_op(type, x, name);
}

TRAINHOOK_DECL Output numeric_binary(std::string_view type, const Operand& left, const Operand& right,
                                     std::string_view name) {
  const auto [x, y] = both(type, left, right);
  require_numeric(type, x);
  return binary_op(type, x, y, name);
}

TRAINHOOK_DECL Output comparison(std::string_view type, const Operand& left, const Operand& right,
                                 std::string_view name) {
  const auto [x, y] = both(type, left, right);
  Graph& graph = graph_of(type, x);
  require_same_dtype(type, x, y);
  const bool orders = type != "Equal" && type != "NotEqual";
  require_dtype(type, x, !orders || is_floating(x.dtype()) || is_integer(x.dtype()), "a dtype that has an order");
  Attrs attrs{{"T", x.dtype()}};
  if (!orders) attrs.emplace("incompatible_shape_error", true);
  return add_op(graph, type, name, {x, y}, std::move(attrs), DType::Bool, broadcast_shape(type, x, y));
}

TRAINHOOK_DECL Output predicate(std::string_view type, const Output& x, std::string_view name) {
  require_floating(type, x);
  return add_op(x.graph(), type, name, {x}, {{"T", x.dtype()}}, DType::Bool, x.shape());
}

TRAINHOOK_DECL Output logical(std::string_view type, const Output& x, const Output& y, std::string_view name) {
  Graph& graph = graph_of(type, x);
  require_same_dtype(type, x, y);
  require_dtype(type, x, x.dtype() == DType::Bool, "bool");
  return add_op(graph, type, name, {x, y}, {}, DType::Bool, broadcast_shape(type, x, y));
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL Output add(const Operand& x, const Operand& y, std::string_view name) {
  return detail::numeric_binary("AddV2", x, y, name);
}

TRAINHOOK_DECL Output subtract(const Operand& x, const Operand& y, std::string_view name) {
  return detail::numeric_binary("Sub", x, y, name);
}

TRAINHOOK_DECL Output multiply(const Operand& x, const Operand& y, std::string_view name) {
  return detail::numeric_binary("Mul", x, y, name);
}

TRAINHOOK_DECL Output divide(const Operand& x, const Operand& y, std::string_view name) {
  const auto [left, right] = detail::both("RealDiv", x, y);
  detail::require_dtype("RealDiv", left, !is_integer(left.dtype()), "a floating dtype; cast() it or use floordiv()");
  return detail::numeric_binary("RealDiv", left, right, name);
}

TRAINHOOK_DECL Output floordiv(const Operand& x, const Operand& y, std::string_view name) {
  return detail::numeric_binary("FloorDiv", x, y, name);
}

TRAINHOOK_DECL Output floormod(const Operand& x, const Operand& y, std::string_view name) {
  return detail::numeric_binary("FloorMod", x, y, name);
}

TRAINHOOK_DECL Output pow(const Operand& x, const Operand& y, std::string_view name) {
  return detail::numeric_binary("Pow", x, y, name);
}

TRAINHOOK_DECL Output squared_difference(const Operand& x, const Operand& y, std::string_view name) {
  return detail::numeric_binary("SquaredDifference", x, y, name);
}

TRAINHOOK_DECL Output maximum(const Operand& x, const Operand& y, std::string_view name) {
  return detail::numeric_binary("Maximum", x, y, name);
}

TRAINHOOK_DECL Output minimum(const Operand& x, const Operand& y, std::string_view name) {
  return detail::numeric_binary("Minimum", x, y, name);
}

TRAINHOOK_DECL Output negative(Output x, std::string_view name) { return detail::numeric_unary("Neg", x, name); }

TRAINHOOK_DECL Output abs(Output x, std::string_view name) { return detail::numeric_unary("Abs", x, name); }

TRAINHOOK_DECL Output sign(Output x, std::string_view name) { return detail::numeric_unary("Sign", x, name); }

TRAINHOOK_DECL Output square(Output x, std::string_view name) { return detail::numeric_unary("Square", x, name); }

TRAINHOOK_DECL Output exp(Output x, std::string_view name) { return detail::floating_unary("Exp", x, name); }

TRAINHOOK_DECL Output log(Output x, std::string_view name) { return detail::floating_unary("Log", x, name); }

TRAINHOOK_DECL Output log1p(Output x, std::string_view name) { return detail::floating_unary("Log1p", x, name); }

TRAINHOOK_DECL Output sqrt(Output x, std::string_view name) { return detail::floating_unary("Sqrt", x, name); }

TRAINHOOK_DECL Output rsqrt(Output x, std::string_view name) { return detail::floating_unary("Rsqrt", x, name); }

TRAINHOOK_DECL Output reciprocal(Output x, std::string_view name) {
  return detail::floating_unary("Reciprocal", x, name);
}

TRAINHOOK_DECL Output sin(Output x, std::string_view name) { return detail::floating_unary("Sin", x, name); }

TRAINHOOK_DECL Output cos(Output x, std::string_view name) { return detail::floating_unary("Cos", x, name); }

TRAINHOOK_DECL Output floor(Output x, std::string_view name) {
  detail::require_floating("Floor", x);
  return detail::unary_op("Floor", x, name);
}

TRAINHOOK_DECL Output equal(const Operand& x, const Operand& y, std::string_view name) {
  return detail::comparison("Equal", x, y, name);
}

TRAINHOOK_DECL Output not_equal(const Operand& x, const Operand& y, std::string_view name) {
  return detail::comparison("NotEqual", x, y, name);
}

TRAINHOOK_DECL Output less(const Operand& x, const Operand& y, std::string_view name) {
  return detail::comparison("Less", x, y, name);
}

TRAINHOOK_DECL Output less_equal(const Operand& x, const Operand& y, std::string_view name) {
  return detail::comparison("LessEqual", x, y, name);
}

TRAINHOOK_DECL Output greater(const Operand& x, const Operand& y, std::string_view name) {
  return detail::comparison("Greater", x, y, name);
}

TRAINHOOK_DECL Output greater_equal(const Operand& x, const Operand& y, std::string_view name) {
  return detail::comparison("GreaterEqual", x, y, name);
}

TRAINHOOK_DECL Output is_finite(Output x, std::string_view name) { return detail::predicate("IsFinite", x, name); }

TRAINHOOK_DECL Output is_nan(Output x, std::string_view name) { return detail::predicate("IsNan", x, name); }

TRAINHOOK_DECL Output is_inf(Output x, std::string_view name) { return detail::predicate("IsInf", x, name); }

TRAINHOOK_DECL Output logical_and(Output x, Output y, std::string_view name) {
  return detail::logical("LogicalAnd", x, y, name);
}

TRAINHOOK_DECL Output logical_or(Output x, Output y, std::string_view name) {
  return detail::logical("LogicalOr", x, y, name);
}

TRAINHOOK_DECL Output logical_not(Output x, std::string_view name) {
  Graph& graph = detail::graph_of("LogicalNot", x);
  detail::require_dtype("LogicalNot", x, x.dtype() == DType::Bool, "bool");
  return detail::add_op(graph, "LogicalNot", name, {x}, {}, DType::Bool, x.shape());
}

TRAINHOOK_DECL Output add_n(const std::vector<Output>& inputs, std::string_view name) {
  if (inputs.empty()) throw InvalidArgumentError("AddN needs at least one input");
  const Output& first = inputs.front();
  detail::require_numeric("AddN", first);
  if (inputs.size() == 1) return first;
  PartialShape shape = first.shape();
  for (const Output& input : inputs) {
    detail::require_same_dtype("AddN", first, input);
    const PartialShape merged = detail::merged_shape("AddN", first, input);
    if (!shape.is_fully_known()) shape = merged;
  }
  return detail::add_op(first.graph(), "AddN", name, inputs,
                        {{"N", static_cast<std::int64_t>(inputs.size())}, {"T", first.dtype()}}, first.dtype(), shape);
}

TRAINHOOK_DECL Output clip_by_value(Output value, const Operand& low, const Operand& high, std::string_view name) {
  Graph& graph = detail::graph_of("clip_by_value", value);
  const Graph::Scope scope = graph.name_scope(name);
  const std::string whole = graph.current_scope();
  return maximum(minimum(value, high), low, whole);
}

}  // namespace trainhook
