// SPDX-License-Identifier: Apache-2.0
/// @file
/// Elementwise arithmetic, comparison and logic with NumPy's broadcasting, and the operators of `Output`.
#pragma once

#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/operand.hpp>

namespace trainhook {
namespace detail {

TRAINHOOK_DECL Output comparison(std::string_view type, const Operand& left, const Operand& right,
                                 std::string_view name);
TRAINHOOK_DECL Output predicate(std::string_view type, const Output& x, std::string_view name);
TRAINHOOK_DECL Output logical(std::string_view type, const Output& x, const Output& y, std::string_view name);

}  // namespace detail

TRAINHOOK_DECL Output add(const Operand& x, const Operand& y, std::string_view name = {});
TRAINHOOK_DECL Output subtract(const Operand& x, const Operand& y, std::string_view name = {});
TRAINHOOK_DECL Output multiply(const Operand& x, const Operand& y, std::string_view name = {});
/// `x / y` of a floating dtype; cast integers first, or use `floordiv`. Source: `tf.divide`, `tf.realdiv`.
TRAINHOOK_DECL Output divide(const Operand& x, const Operand& y, std::string_view name = {});
TRAINHOOK_DECL Output floordiv(const Operand& x, const Operand& y, std::string_view name = {});
TRAINHOOK_DECL Output floormod(const Operand& x, const Operand& y, std::string_view name = {});
TRAINHOOK_DECL Output pow(const Operand& x, const Operand& y, std::string_view name = {});
TRAINHOOK_DECL Output squared_difference(const Operand& x, const Operand& y, std::string_view name = {});
TRAINHOOK_DECL Output maximum(const Operand& x, const Operand& y, std::string_view name = {});
TRAINHOOK_DECL Output minimum(const Operand& x, const Operand& y, std::string_view name = {});
TRAINHOOK_DECL Output negative(Output x, std::string_view name = {});
TRAINHOOK_DECL Output abs(Output x, std::string_view name = {});
TRAINHOOK_DECL Output sign(Output x, std::string_view name = {});
TRAINHOOK_DECL Output square(Output x, std::string_view name = {});
TRAINHOOK_DECL Output exp(Output x, std::string_view name = {});
TRAINHOOK_DECL Output log(Output x, std::string_view name = {});
TRAINHOOK_DECL Output log1p(Output x, std::string_view name = {});
TRAINHOOK_DECL Output sqrt(Output x, std::string_view name = {});
TRAINHOOK_DECL Output rsqrt(Output x, std::string_view name = {});
TRAINHOOK_DECL Output reciprocal(Output x, std::string_view name = {});
TRAINHOOK_DECL Output sin(Output x, std::string_view name = {});
TRAINHOOK_DECL Output cos(Output x, std::string_view name = {});
TRAINHOOK_DECL Output floor(Output x, std::string_view name = {});
TRAINHOOK_DECL Output equal(const Operand& x, const Operand& y, std::string_view name = {});
TRAINHOOK_DECL Output not_equal(const Operand& x, const Operand& y, std::string_view name = {});
TRAINHOOK_DECL Output less(const Operand& x, const Operand& y, std::string_view name = {});
TRAINHOOK_DECL Output less_equal(const Operand& x, const Operand& y, std::string_view name = {});
TRAINHOOK_DECL Output greater(const Operand& x, const Operand& y, std::string_view name = {});
TRAINHOOK_DECL Output greater_equal(const Operand& x, const Operand& y, std::string_view name = {});
TRAINHOOK_DECL Output is_finite(Output x, std::string_view name = {});
TRAINHOOK_DECL Output is_nan(Output x, std::string_view name = {});
TRAINHOOK_DECL Output is_inf(Output x, std::string_view name = {});
TRAINHOOK_DECL Output logical_and(Output x, Output y, std::string_view name = {});
TRAINHOOK_DECL Output logical_or(Output x, Output y, std::string_view name = {});
TRAINHOOK_DECL Output logical_not(Output x, std::string_view name = {});

/// The sum of all `inputs`, elementwise, without broadcasting; one input is returned as it is. Source: `tf.add_n`.
TRAINHOOK_DECL Output add_n(const std::vector<Output>& inputs, std::string_view name = {});

/// `value` with its elements held between two bounds of its dtype. Source: `tf.clip_by_value`.
TRAINHOOK_DECL Output clip_by_value(Output value, const Operand& low, const Operand& high,
                                    std::string_view name = "clip_by_value");

inline Output operator+(const Operand& x, const Operand& y) { return add(x, y); }
inline Output operator-(const Operand& x, const Operand& y) { return subtract(x, y); }
inline Output operator*(const Operand& x, const Operand& y) { return multiply(x, y); }
inline Output operator/(const Operand& x, const Operand& y) { return divide(x, y); }
inline Output operator-(Output x) { return negative(x); }

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/math_ops.ipp>
#endif
