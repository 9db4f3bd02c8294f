// SPDX-License-Identifier: Apache-2.0
/// @file
/// Elementwise arithmetic, comparison and logic, and the operators of `Output`.
#pragma once

#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>
#include <trainhook/graph/operand.hpp>

namespace trainhook {
namespace detail {

/// The elementwise ops: Abs, Add, AddN, AddV2, ..., SquaredDifference, Sub.
[[nodiscard]] TRAINHOOK_DECL OpFamily math_ops() noexcept;

}  // namespace detail

// Ops of two operands broadcast by NumPy's rules; a number takes the dtype of the other operand.

/// `x + y`. Source: `tf.add`.
TRAINHOOK_DECL Output add(const Operand& x, const Operand& y, std::string_view name = {});
/// `x - y`. Source: `tf.subtract`.
TRAINHOOK_DECL Output subtract(const Operand& x, const Operand& y, std::string_view name = {});
/// `x * y`. Source: `tf.multiply`.
TRAINHOOK_DECL Output multiply(const Operand& x, const Operand& y, std::string_view name = {});
/// `x / y`, for floating dtypes; cast integers first, or use `floordiv`. Source: `tf.divide`, `tf.realdiv`.
TRAINHOOK_DECL Output divide(const Operand& x, const Operand& y, std::string_view name = {});
/// `x / y`, rounded down. Source: `tf.math.floordiv`.
TRAINHOOK_DECL Output floordiv(const Operand& x, const Operand& y, std::string_view name = {});
/// The remainder of `floordiv`, which has the sign of `y`. Source: `tf.math.floormod`.
TRAINHOOK_DECL Output floormod(const Operand& x, const Operand& y, std::string_view name = {});
/// `x` to the power of `y`. Source: `tf.pow`.
TRAINHOOK_DECL Output pow(const Operand& x, const Operand& y, std::string_view name = {});
/// `(x - y) * (x - y)`. Source: `tf.math.squared_difference`.
TRAINHOOK_DECL Output squared_difference(const Operand& x, const Operand& y, std::string_view name = {});
/// The larger of `x` and `y`. Source: `tf.maximum`.
TRAINHOOK_DECL Output maximum(const Operand& x, const Operand& y, std::string_view name = {});
/// The smaller of `x` and `y`. Source: `tf.minimum`.
TRAINHOOK_DECL Output minimum(const Operand& x, const Operand& y, std::string_view name = {});

/// `-x`. Source: `tf.negative`.
TRAINHOOK_DECL Output negative(Output x, std::string_view name = {});
/// The absolute value. Source: `tf.abs`.
TRAINHOOK_DECL Output(abs)(Output x, std::string_view name = {});
/// -1, 0 or 1 if `x` is negative, zero or positive. Source: `tf.sign`.
TRAINHOOK_DECL Output sign(Output x, std::string_view name = {});
/// `x * x`. Source: `tf.square`.
TRAINHOOK_DECL Output square(Output x, std::string_view name = {});
/// e to the power of `x`. Source: `tf.exp`.
TRAINHOOK_DECL Output exp(Output x, std::string_view name = {});
/// The natural logarithm. Source: `tf.math.log`.
TRAINHOOK_DECL Output log(Output x, std::string_view name = {});
/// `log(1 + x)`, accurate for small `x`. Source: `tf.math.log1p`.
TRAINHOOK_DECL Output log1p(Output x, std::string_view name = {});
/// The square root. Source: `tf.sqrt`.
TRAINHOOK_DECL Output sqrt(Output x, std::string_view name = {});
/// `1 / sqrt(x)`. Source: `tf.math.rsqrt`.
TRAINHOOK_DECL Output rsqrt(Output x, std::string_view name = {});
/// `1 / x`. Source: `tf.math.reciprocal`.
TRAINHOOK_DECL Output reciprocal(Output x, std::string_view name = {});
/// The sine. Source: `tf.sin`.
TRAINHOOK_DECL Output sin(Output x, std::string_view name = {});
/// The cosine. Source: `tf.cos`.
TRAINHOOK_DECL Output cos(Output x, std::string_view name = {});
/// The largest integer that is not greater than `x`. Source: `tf.floor`.
TRAINHOOK_DECL Output floor(Output x, std::string_view name = {});

/// `x == y`, as bools. Source: `tf.equal`.
TRAINHOOK_DECL Output equal(const Operand& x, const Operand& y, std::string_view name = {});
/// `x != y`, as bools. Source: `tf.not_equal`.
TRAINHOOK_DECL Output not_equal(const Operand& x, const Operand& y, std::string_view name = {});
/// `x < y`, as bools. Source: `tf.less`.
TRAINHOOK_DECL Output less(const Operand& x, const Operand& y, std::string_view name = {});
/// `x <= y`, as bools. Source: `tf.less_equal`.
TRAINHOOK_DECL Output less_equal(const Operand& x, const Operand& y, std::string_view name = {});
/// `x > y`, as bools. Source: `tf.greater`.
TRAINHOOK_DECL Output greater(const Operand& x, const Operand& y, std::string_view name = {});
/// `x >= y`, as bools. Source: `tf.greater_equal`.
TRAINHOOK_DECL Output greater_equal(const Operand& x, const Operand& y, std::string_view name = {});
/// Whether `x` is neither infinite nor NaN. Source: `tf.math.is_finite`.
TRAINHOOK_DECL Output is_finite(Output x, std::string_view name = {});
/// Whether `x` is NaN. Source: `tf.math.is_nan`.
TRAINHOOK_DECL Output is_nan(Output x, std::string_view name = {});
/// Whether `x` is infinite. Source: `tf.math.is_inf`.
TRAINHOOK_DECL Output is_inf(Output x, std::string_view name = {});
/// Whether both are true. Source: `tf.logical_and`.
TRAINHOOK_DECL Output logical_and(Output x, Output y, std::string_view name = {});
/// Whether at least one is true. Source: `tf.logical_or`.
TRAINHOOK_DECL Output logical_or(Output x, Output y, std::string_view name = {});
/// Whether `x` is false. Source: `tf.logical_not`.
TRAINHOOK_DECL Output logical_not(Output x, std::string_view name = {});

/// The sum of all `inputs`, elementwise, without broadcasting; a single input is returned unchanged. Source:
/// `tf.add_n`.
TRAINHOOK_DECL Output add_n(const std::vector<Output>& inputs, std::string_view name = {});

/// `value` with its elements limited to [low, high], both of its dtype. Source: `tf.clip_by_value`.
TRAINHOOK_DECL Output clip_by_value(Output value, const Operand& low, const Operand& high,
                                    std::string_view name = "clip_by_value");

inline Output operator+(const Operand& x, const Operand& y) { return add(x, y); }
inline Output operator-(const Operand& x, const Operand& y) { return subtract(x, y); }
inline Output operator*(const Operand& x, const Operand& y) { return multiply(x, y); }
inline Output operator/(const Operand& x, const Operand& y) { return divide(x, y); }
inline Output operator-(Output x) { return negative(x); }

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/ops/impl/math.ipp>
#endif
