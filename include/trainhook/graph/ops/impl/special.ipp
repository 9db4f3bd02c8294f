// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of special.hpp, and the definitions of its ops.
#pragma once

#include <trainhook/graph/ops/special.hpp>

#include <array>
#include <numbers>

#include <trainhook/graph/gradient_registry.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/math.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>
#include <trainhook/graph/ops/slice.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL Grads divide_no_nan_grad(const GradientContext& c) {
  const Output x = c.input(0);
  const Output y = c.input(1);
  Grads result(2);
  if (c.needs(0)) result[0] = unbroadcast(c, divide_no_nan(c.grad(), y), x, y);
  if (c.needs(1)) {
    const Output slope = divide_no_nan(divide_no_nan(negative(x), y), y);
    result[1] = unbroadcast(c, multiply(c.grad(), slope), y, x);
  }
  return result;
}

TRAINHOOK_DECL Grads erf_grad(const GradientContext& c) {
  const Output slope = multiply(2 * std::numbers::inv_sqrtpi, exp(negative(square(c.input(0)))));
  return {multiply(c.grad(), slope)};
}

inline constexpr OpDef kDivNoNanOp{"DivNoNan", "T T -> T", "T:inexact", shape_rules::broadcast, divide_no_nan_grad};
inline constexpr OpDef kErfOp{"Erf", "T -> T", "T:floating", shape_rules::like<0>, erf_grad};

inline constexpr std::array kSpecialOps{&kDivNoNanOp, &kErfOp};

TRAINHOOK_DECL OpFamily special_ops() noexcept { return kSpecialOps; }

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL Output divide_no_nan(const Operand& x, const Operand& y, std::string_view name) {
  const auto [left, right] = detail::both("DivNoNan", x, y);
  return detail::add_op(detail::kDivNoNanOp, name, {left, right});
}

TRAINHOOK_DECL Output erf(Output x, std::string_view name) { return detail::add_op(detail::kErfOp, name, {x}); }

}  // namespace trainhook
