// SPDX-License-Identifier: Apache-2.0
/// @file
/// More elementwise functions: divide_no_nan, erf, acos, asin, atan, ceil, cosh, expm1, rint, round, sinh, tan.
#pragma once

#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>
#include <trainhook/graph/operand.hpp>

namespace trainhook {
namespace detail {

/// DivNoNan, Erf, Acos, Asin, Atan, Ceil, Cosh, Expm1, Rint, Round, Sinh, Tan.
[[nodiscard]] TRAINHOOK_DECL OpFamily special_ops() noexcept;

}  // namespace detail

/// `x / y`, and 0 if `y` is 0. Source: `tf.math.divide_no_nan`.
TRAINHOOK_DECL Output divide_no_nan(const Operand& x, const Operand& y, std::string_view name = {});

/// The error function. Source: `tf.math.erf`.
TRAINHOOK_DECL Output erf(Output x, std::string_view name = {});

/// The angle in [0, pi] whose cosine is `x`. Source: `tf.math.acos`.
TRAINHOOK_DECL Output acos(Output x, std::string_view name = {});
/// The angle in [-pi / 2, pi / 2] whose sine is `x`. Source: `tf.math.asin`.
TRAINHOOK_DECL Output asin(Output x, std::string_view name = {});
/// The angle in [-pi / 2, pi / 2] whose tangent is `x`. Source: `tf.math.atan`.
TRAINHOOK_DECL Output atan(Output x, std::string_view name = {});
/// The tangent. Source: `tf.math.tan`.
TRAINHOOK_DECL Output tan(Output x, std::string_view name = {});
/// The hyperbolic cosine. Source: `tf.math.cosh`.
TRAINHOOK_DECL Output cosh(Output x, std::string_view name = {});
/// The hyperbolic sine. Source: `tf.math.sinh`.
TRAINHOOK_DECL Output sinh(Output x, std::string_view name = {});
/// `exp(x) - 1`, accurate near 0. Source: `tf.math.expm1`.
TRAINHOOK_DECL Output expm1(Output x, std::string_view name = {});

/// The smallest integer that is not less than `x`. Source: `tf.math.ceil`.
TRAINHOOK_DECL Output ceil(Output x, std::string_view name = {});
/// The nearest integer; of two, the even one. Also accepts integers. Source: `tf.math.round`.
TRAINHOOK_DECL Output(round)(Output x, std::string_view name = {});
/// The same, for floating dtypes only. Source: `tf.math.rint`.
TRAINHOOK_DECL Output rint(Output x, std::string_view name = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/ops/impl/special.ipp>
#endif
