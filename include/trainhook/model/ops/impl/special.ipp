// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/ops/special.hpp>

#include <array>
#include <numbers>

#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>
#include <trainhook/model/ops/broadcast.hpp>
#include <trainhook/model/ops/math.hpp>

namespace trainhook::detail {

inline Grads divide_no_nan_grad(const GradientContext& c) {
  const Output x = c.input(0);
  const Output y = c.input(1);
  Grads result(2);
  if (c.needs(0)) result[0] = unbroadcast(divide_no_nan(c.grad(), y), x, y);
  if (c.needs(1)) {
    const Output slope = divide_no_nan(divide_no_nan(negative(x), y), y);
    result[1] = unbroadcast(multiply(c.grad(), slope), y, x);
  }
  return result;
}

inline Grads erf_grad(const GradientContext& c) {
  const Output slope = multiply(2 * std::numbers::inv_sqrtpi, exp(negative(square(c.input(0)))));
  return {multiply(c.grad(), slope)};
}

inline Grads acos_grad(const GradientContext& c) {
  return {negative(divide(c.grad(), sqrt(subtract(1, square(c.input(0))))))};
}
inline Grads asin_grad(const GradientContext& c) { return {divide(c.grad(), sqrt(subtract(1, square(c.input(0)))))}; }
inline Grads atan_grad(const GradientContext& c) { return {divide(c.grad(), add(square(c.input(0)), 1))}; }
inline Grads expm1_grad(const GradientContext& c) { return {multiply(c.grad(), exp(c.input(0)))}; }
inline Grads tan_grad(const GradientContext& c) { return {divide(c.grad(), square(cos(c.input(0))))}; }
inline Grads cosh_grad(const GradientContext& c) { return {multiply(c.grad(), sinh(c.input(0)))}; }
inline Grads sinh_grad(const GradientContext& c) { return {multiply(c.grad(), cosh(c.input(0)))}; }

inline constexpr OpDef kAcosOp{"Acos", "T -> T", "T:inexact", shape_rules::like<0>, acos_grad};
inline constexpr OpDef kAsinOp{"Asin", "T -> T", "T:inexact", shape_rules::like<0>, asin_grad};
inline constexpr OpDef kAtanOp{"Atan", "T -> T", "T:inexact", shape_rules::like<0>, atan_grad};
inline constexpr OpDef kCeilOp{"Ceil", "T -> T", "T:floating", shape_rules::like<0>, no_gradient};
inline constexpr OpDef kCoshOp{"Cosh", "T -> T", "T:inexact", shape_rules::like<0>, cosh_grad};
inline constexpr OpDef kDivNoNanOp{"DivNoNan", "T T -> T", "T:inexact", shape_rules::broadcast, divide_no_nan_grad};
inline constexpr OpDef kErfOp{"Erf", "T -> T", "T:floating", shape_rules::like<0>, erf_grad};

inline constexpr OpDef kExpm1Op{"Expm1", "T -> T", "T:inexact", shape_rules::like<0>, expm1_grad};
inline constexpr OpDef kRintOp{"Rint", "T -> T", "T:floating", shape_rules::like<0>, no_gradient};
inline constexpr OpDef kRoundOp{"Round", "T -> T", "T:{int8,int16,int32,int64,inexact}", shape_rules::like<0>,
                                no_gradient};
inline constexpr OpDef kSinhOp{"Sinh", "T -> T", "T:inexact", shape_rules::like<0>, sinh_grad};
inline constexpr OpDef kTanOp{"Tan", "T -> T", "T:inexact", shape_rules::like<0>, tan_grad};

inline constexpr std::array kSpecialOps{&kAcosOp, &kAsinOp,  &kAtanOp, &kCeilOp,  &kCoshOp, &kDivNoNanOp,
                                        &kErfOp,  &kExpm1Op, &kRintOp, &kRoundOp, &kSinhOp, &kTanOp};

OpFamily special_ops() noexcept { return kSpecialOps; }

}  // namespace trainhook::detail

namespace trainhook {

Output divide_no_nan(const Operand& x, const Operand& y, std::string_view name) {
  const auto [left, right] = detail::both("DivNoNan", x, y);
  return detail::add_op(detail::kDivNoNanOp, name, {left, right});
}

Output erf(Output x, std::string_view name) { return detail::add_op(detail::kErfOp, name, {x}); }

Output acos(Output x, std::string_view name) { return detail::add_op(detail::kAcosOp, name, {x}); }

Output asin(Output x, std::string_view name) { return detail::add_op(detail::kAsinOp, name, {x}); }

Output atan(Output x, std::string_view name) { return detail::add_op(detail::kAtanOp, name, {x}); }

Output ceil(Output x, std::string_view name) { return detail::add_op(detail::kCeilOp, name, {x}); }

Output cosh(Output x, std::string_view name) { return detail::add_op(detail::kCoshOp, name, {x}); }

Output expm1(Output x, std::string_view name) { return detail::add_op(detail::kExpm1Op, name, {x}); }

Output rint(Output x, std::string_view name) { return detail::add_op(detail::kRintOp, name, {x}); }

Output(round)(Output x, std::string_view name) { return detail::add_op(detail::kRoundOp, name, {x}); }

Output sinh(Output x, std::string_view name) { return detail::add_op(detail::kSinhOp, name, {x}); }

Output tan(Output x, std::string_view name) { return detail::add_op(detail::kTanOp, name, {x}); }

}  // namespace trainhook
