// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/ops/math.hpp>

#include <array>
#include <cstddef>
#include <string>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/cast.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>
#include <trainhook/model/ops/broadcast.hpp>
#include <trainhook/model/ops/slice.hpp>

namespace trainhook::detail {

/// Equal and NotEqual may be told to accept shapes that do not broadcast.
inline PartialShape equality_shape(const NodeSpec& node, std::size_t index) {
  const PartialShape& x = node.inputs[0].shape();
  const bool is_same = x.is_fully_known() && x == node.inputs[1].shape();
  const bool is_broadcast = is_same || attr_of<bool>(node, "incompatible_shape_error");
  return is_broadcast ? shape_rules::broadcast(node, index) : PartialShape();
}

/// The gradients of a broadcasting op from its partial ones; `left` and `right` are called only if they are needed.
template <class Left, class Right>
Grads broadcasting(const GradientContext& context, Left left, Right right) {
  const Output x = context.input(0);
  const Output y = context.input(1);
  Grads result(2);
  if (context.needs(0)) result[0] = unbroadcast(left(x, y), x, y);
  if (context.needs(1)) result[1] = unbroadcast(right(x, y), y, x);
  return result;
}

inline Grads add_grad(const GradientContext& c) {
  return broadcasting(
      c, [&](const Output&, const Output&) { return c.grad(); },
      [&](const Output&, const Output&) { return c.grad(); });
}

inline Grads subtract_grad(const GradientContext& c) {
  return broadcasting(
      c, [&](const Output&, const Output&) { return c.grad(); },
      [&](const Output&, const Output&) { return negative(c.grad()); });
}

inline Grads multiply_grad(const GradientContext& c) {
  return broadcasting(
      c, [&](const Output&, const Output& y) { return multiply(c.grad(), y); },
      [&](const Output& x, const Output&) { return multiply(x, c.grad()); });
}

inline Grads divide_grad(const GradientContext& c) {
  return broadcasting(
      c, [&](const Output&, const Output& y) { return divide(c.grad(), y); },
      [&](const Output& x, const Output& y) { return multiply(c.grad(), divide(divide(negative(x), y), y)); });
}

inline Grads floormod_grad(const GradientContext& c) {
  return broadcasting(
      c, [&](const Output&, const Output&) { return c.grad(); },
      [&](const Output& x, const Output& y) { return multiply(c.grad(), negative(floordiv(x, y))); });
}

inline Grads pow_grad(const GradientContext& c) {
  return broadcasting(
      c, [&](const Output& x, const Output& y) { return multiply(multiply(c.grad(), y), pow(x, subtract(y, 1))); },
      [&](const Output& x, const Output&) {  // the logarithm of what is not positive counts as zero
        const Output is_positive = greater(x, 0);
        const Output safe = log(where(is_positive, x, ones_like(x)));
        return multiply(multiply(c.grad(), c.output()), where(is_positive, safe, zeros_like(x)));
      });
}

inline Grads squared_difference_grad(const GradientContext& c) {
  return broadcasting(
      c, [&](const Output& x, const Output& y) { return multiply(multiply(2, c.grad()), subtract(x, y)); },
      [&](const Output& x, const Output& y) { return multiply(multiply(-2, c.grad()), subtract(x, y)); });
}

inline Grads maximum_grad(const GradientContext& c) {
  return broadcasting(
      c, [&](const Output& x, const Output& y) { return where(greater_equal(x, y), c.grad(), 0); },
      [&](const Output& x, const Output& y) { return where(greater_equal(x, y), 0, c.grad()); });
}

inline Grads minimum_grad(const GradientContext& c) {
  return broadcasting(
      c, [&](const Output& x, const Output& y) { return where(less_equal(x, y), c.grad(), 0); },
      [&](const Output& x, const Output& y) { return where(less_equal(x, y), 0, c.grad()); });
}

inline Grads add_n_grad(const GradientContext& c) { return Grads(c.input_count(), c.grad()); }
inline Grads abs_grad(const GradientContext& c) { return {multiply(c.grad(), sign(c.input(0)))}; }
inline Grads cos_grad(const GradientContext& c) { return {negative(multiply(c.grad(), sin(c.input(0))))}; }
inline Grads exp_grad(const GradientContext& c) { return {multiply(c.grad(), c.output())}; }
inline Grads log_grad(const GradientContext& c) { return {divide(c.grad(), c.input(0))}; }
inline Grads log1p_grad(const GradientContext& c) { return {divide(c.grad(), add(c.input(0), 1))}; }
inline Grads negative_grad(const GradientContext& c) { return {negative(c.grad())}; }
inline Grads sin_grad(const GradientContext& c) { return {multiply(c.grad(), cos(c.input(0)))}; }
inline Grads square_grad(const GradientContext& c) { return {multiply(c.grad(), multiply(c.input(0), 2))}; }

// The gradients of roots are ops of their own, which take the result and its gradient. If that gradient is zero, so is
// theirs, even where the root has no finite slope: `where(x > 0, sqrt(x), 0)` can be trained through.

inline Grads reciprocal_grad_grad(const GradientContext& c);
inline Grads rsqrt_grad_grad(const GradientContext& c);
inline Grads sqrt_grad_grad(const GradientContext& c);

inline constexpr OpDef kReciprocalGradOp{"ReciprocalGrad", "T T -> T", "T:inexact", shape_rules::merged,
                                         reciprocal_grad_grad};
inline constexpr OpDef kRsqrtGradOp{"RsqrtGrad", "T T -> T", "T:inexact", shape_rules::merged, rsqrt_grad_grad};
inline constexpr OpDef kSqrtGradOp{"SqrtGrad", "T T -> T", "T:inexact", shape_rules::merged, sqrt_grad_grad};

inline Grads reciprocal_grad(const GradientContext& c) {
  return {add_op(kReciprocalGradOp, {}, {c.output(), c.grad()})};
}
inline Grads rsqrt_grad(const GradientContext& c) { return {add_op(kRsqrtGradOp, {}, {c.output(), c.grad()})}; }
inline Grads sqrt_grad(const GradientContext& c) { return {add_op(kSqrtGradOp, {}, {c.output(), c.grad()})}; }

Grads reciprocal_grad_grad(const GradientContext& c) {
  const Output root = c.input(0);
  return {multiply(multiply(multiply(c.grad(), -2), c.input(1)), root),
          add_op(kReciprocalGradOp, {}, {root, c.grad()})};
}
Grads rsqrt_grad_grad(const GradientContext& c) {
  const Output root = c.input(0);
  return {multiply(multiply(multiply(c.grad(), -1.5), c.input(1)), square(root)),
          add_op(kRsqrtGradOp, {}, {root, c.grad()})};
}
Grads sqrt_grad_grad(const GradientContext& c) {
  const Output share = divide(c.grad(), c.input(0));
  return {multiply(negative(share), c.output()), multiply(share, 0.5)};
}

inline constexpr std::string_view kEquality = "incompatible_shape_error:bool=true";

inline constexpr OpDef kAbsOp{"Abs", "T -> T", "T:{int8,int16,int32,int64,floating}", shape_rules::like<0>, abs_grad};
inline constexpr OpDef kAddOp{"Add", "T T -> T", "T:{string,uint8,int8,int16,int32,int64,inexact}",
                              shape_rules::broadcast, add_grad};
inline constexpr OpDef kAddNOp{"AddN", "N*T -> T", "N:int>0 T:number", shape_rules::merged, add_n_grad};
inline constexpr OpDef kAddV2Op{"AddV2", "T T -> T", "T:number", shape_rules::broadcast, add_grad};
inline constexpr OpDef kCosOp{"Cos", "T -> T", "T:inexact", shape_rules::like<0>, cos_grad};
inline constexpr OpDef kEqualOp{"Equal", "T T -> bool", kEquality, equality_shape, no_gradient};
inline constexpr OpDef kExpOp{"Exp", "T -> T", "T:inexact", shape_rules::like<0>, exp_grad};
inline constexpr OpDef kFloorOp{"Floor", "T -> T", "T:floating", shape_rules::like<0>, no_gradient};
inline constexpr OpDef kFloorDivOp{"FloorDiv", "T T -> T", "T:number", shape_rules::broadcast, no_gradient};
inline constexpr OpDef kFloorModOp{"FloorMod", "T T -> T", "T:real", shape_rules::broadcast, floormod_grad};
inline constexpr OpDef kGreaterOp{"Greater", "T T -> bool", "T:real", shape_rules::broadcast, no_gradient};
inline constexpr OpDef kGreaterEqualOp{"GreaterEqual", "T T -> bool", "T:real", shape_rules::broadcast, no_gradient};
inline constexpr OpDef kIsFiniteOp{"IsFinite", "T -> bool", "T:floating", shape_rules::like<0>, no_gradient};
inline constexpr OpDef kIsInfOp{"IsInf", "T -> bool", "T:floating", shape_rules::like<0>, no_gradient};
inline constexpr OpDef kIsNanOp{"IsNan", "T -> bool", "T:floating", shape_rules::like<0>, no_gradient};
inline constexpr OpDef kLessOp{"Less", "T T -> bool", "T:real", shape_rules::broadcast, no_gradient};
inline constexpr OpDef kLessEqualOp{"LessEqual", "T T -> bool", "T:real", shape_rules::broadcast, no_gradient};
inline constexpr OpDef kLogOp{"Log", "T -> T", "T:inexact", shape_rules::like<0>, log_grad};
inline constexpr OpDef kLog1pOp{"Log1p", "T -> T", "T:inexact", shape_rules::like<0>, log1p_grad};
inline constexpr OpDef kLogicalAndOp{"LogicalAnd", "bool bool -> bool", "", shape_rules::broadcast, no_gradient};
inline constexpr OpDef kLogicalNotOp{"LogicalNot", "bool -> bool", "", shape_rules::like<0>, no_gradient};
inline constexpr OpDef kLogicalOrOp{"LogicalOr", "bool bool -> bool", "", shape_rules::broadcast, no_gradient};
inline constexpr OpDef kMaximumOp{"Maximum", "T T -> T", "T:real", shape_rules::broadcast, maximum_grad};
inline constexpr OpDef kMinimumOp{"Minimum", "T T -> T", "T:real", shape_rules::broadcast, minimum_grad};
inline constexpr OpDef kMulOp{"Mul", "T T -> T", "T:number", shape_rules::broadcast, multiply_grad};
inline constexpr OpDef kNegOp{"Neg", "T -> T", "T:{int8,int16,int32,int64,inexact}", shape_rules::like<0>,
                              negative_grad};
inline constexpr OpDef kNotEqualOp{"NotEqual", "T T -> bool", kEquality, equality_shape, no_gradient};
inline constexpr OpDef kPowOp{"Pow", "T T -> T", "T:{int8,int16,int32,int64,inexact}", shape_rules::broadcast,
                              pow_grad};
inline constexpr OpDef kRealDivOp{"RealDiv", "T T -> T", "T:number", shape_rules::broadcast, divide_grad};
inline constexpr OpDef kReciprocalOp{"Reciprocal", "T -> T", "T:inexact", shape_rules::like<0>, reciprocal_grad};
inline constexpr OpDef kRsqrtOp{"Rsqrt", "T -> T", "T:inexact", shape_rules::like<0>, rsqrt_grad};
inline constexpr OpDef kSignOp{"Sign", "T -> T", "T:{int8,int16,int32,int64,inexact}", shape_rules::like<0>,
                               no_gradient};
inline constexpr OpDef kSinOp{"Sin", "T -> T", "T:inexact", shape_rules::like<0>, sin_grad};
inline constexpr OpDef kSqrtOp{"Sqrt", "T -> T", "T:inexact", shape_rules::like<0>, sqrt_grad};
inline constexpr OpDef kSquareOp{"Square", "T -> T", "T:number", shape_rules::like<0>, square_grad};
inline constexpr OpDef kSquaredDifferenceOp{"SquaredDifference", "T T -> T", "T:{int32,int64,inexact}",
                                            shape_rules::broadcast, squared_difference_grad};
inline constexpr OpDef kSubOp{"Sub", "T T -> T", "T:number", shape_rules::broadcast, subtract_grad};

inline constexpr std::array kMathOps{&kAbsOp,        &kAddOp,
                                     &kAddNOp,       &kAddV2Op,
                                     &kCosOp,        &kEqualOp,
                                     &kExpOp,        &kFloorOp,
                                     &kFloorDivOp,   &kFloorModOp,
                                     &kGreaterOp,    &kGreaterEqualOp,
                                     &kIsFiniteOp,   &kIsInfOp,
                                     &kIsNanOp,      &kLessOp,
                                     &kLessEqualOp,  &kLogOp,
                                     &kLog1pOp,      &kLogicalAndOp,
                                     &kLogicalNotOp, &kLogicalOrOp,
                                     &kMaximumOp,    &kMinimumOp,
                                     &kMulOp,        &kNegOp,
                                     &kNotEqualOp,   &kPowOp,
                                     &kRealDivOp,    &kReciprocalOp,
                                     &kRsqrtOp,      &kSignOp,
                                     &kSinOp,        &kSqrtOp,
                                     &kSquareOp,     &kSquaredDifferenceOp,
                                     &kSubOp,        &kReciprocalGradOp,
                                     &kRsqrtGradOp,  &kSqrtGradOp};

OpFamily math_ops() noexcept { return kMathOps; }

inline Output binary_op(const OpDef& def, const Operand& left, const Operand& right, std::string_view name) {
  const auto [x, y] = both(def.type, left, right);
  return add_op(def, name, {x, y});
}

}  // namespace trainhook::detail

namespace trainhook {

Output add(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op(detail::kAddV2Op, x, y, name);
}

Output subtract(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op(detail::kSubOp, x, y, name);
}

Output multiply(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op(detail::kMulOp, x, y, name);
}

Output divide(const Operand& x, const Operand& y, std::string_view name) {
  const auto [left, right] = detail::both("RealDiv", x, y);
  detail::require_dtype("RealDiv", left, !is_integer(left.dtype()), "a floating dtype; cast() it or use floordiv()");
  return detail::binary_op(detail::kRealDivOp, left, right, name);
}

Output floordiv(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op(detail::kFloorDivOp, x, y, name);
}

Output floormod(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op(detail::kFloorModOp, x, y, name);
}

Output pow(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op(detail::kPowOp, x, y, name);
}

Output squared_difference(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op(detail::kSquaredDifferenceOp, x, y, name);
}

Output maximum(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op(detail::kMaximumOp, x, y, name);
}

Output minimum(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op(detail::kMinimumOp, x, y, name);
}

Output negative(Output x, std::string_view name) { return detail::add_op(detail::kNegOp, name, {x}); }

Output(abs)(Output x, std::string_view name) { return detail::add_op(detail::kAbsOp, name, {x}); }

Output sign(Output x, std::string_view name) { return detail::add_op(detail::kSignOp, name, {x}); }

Output square(Output x, std::string_view name) { return detail::add_op(detail::kSquareOp, name, {x}); }

Output exp(Output x, std::string_view name) { return detail::add_op(detail::kExpOp, name, {x}); }

Output log(Output x, std::string_view name) { return detail::add_op(detail::kLogOp, name, {x}); }

Output log1p(Output x, std::string_view name) { return detail::add_op(detail::kLog1pOp, name, {x}); }

Output sqrt(Output x, std::string_view name) { return detail::add_op(detail::kSqrtOp, name, {x}); }

Output rsqrt(Output x, std::string_view name) { return detail::add_op(detail::kRsqrtOp, name, {x}); }

Output reciprocal(Output x, std::string_view name) { return detail::add_op(detail::kReciprocalOp, name, {x}); }

Output sin(Output x, std::string_view name) { return detail::add_op(detail::kSinOp, name, {x}); }

Output cos(Output x, std::string_view name) { return detail::add_op(detail::kCosOp, name, {x}); }

Output floor(Output x, std::string_view name) { return detail::add_op(detail::kFloorOp, name, {x}); }

Output equal(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op(detail::kEqualOp, x, y, name);
}

Output not_equal(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op(detail::kNotEqualOp, x, y, name);
}

Output less(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op(detail::kLessOp, x, y, name);
}

Output less_equal(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op(detail::kLessEqualOp, x, y, name);
}

Output greater(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op(detail::kGreaterOp, x, y, name);
}

Output greater_equal(const Operand& x, const Operand& y, std::string_view name) {
  return detail::binary_op(detail::kGreaterEqualOp, x, y, name);
}

Output is_finite(Output x, std::string_view name) { return detail::add_op(detail::kIsFiniteOp, name, {x}); }

Output is_nan(Output x, std::string_view name) { return detail::add_op(detail::kIsNanOp, name, {x}); }

Output is_inf(Output x, std::string_view name) { return detail::add_op(detail::kIsInfOp, name, {x}); }

Output logical_and(Output x, Output y, std::string_view name) {
  return detail::binary_op(detail::kLogicalAndOp, x, y, name);
}

Output logical_or(Output x, Output y, std::string_view name) {
  return detail::binary_op(detail::kLogicalOrOp, x, y, name);
}

Output logical_not(Output x, std::string_view name) { return detail::add_op(detail::kLogicalNotOp, name, {x}); }

Output add_n(const std::vector<Output>& inputs, std::string_view name) {
  if (inputs.empty()) throw InvalidArgumentError("AddN needs at least one input");
  return inputs.size() == 1 ? inputs.front() : detail::add_op(detail::kAddNOp, name, inputs);
}

Output clip_by_value(Output value, const Operand& low, const Operand& high, std::string_view name) {
  Graph& graph = detail::graph_of("clip_by_value", value);
  const Graph::Scope scope = graph.name_scope(name);
  const std::string whole = graph.current_scope();
  return maximum(minimum(value, high), low, whole);
}

}  // namespace trainhook
