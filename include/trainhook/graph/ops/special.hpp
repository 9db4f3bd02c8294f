// SPDX-License-Identifier: Apache-2.0
/// @file
/// Functions beyond plain arithmetic: divide_no_nan, erf.
#pragma once

#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>
#include <trainhook/graph/operand.hpp>

namespace trainhook {
namespace detail {

/// DivNoNan, Erf.
[[nodiscard]] TRAINHOOK_DECL OpFamily special_ops() noexcept;

}  // namespace detail

/// `x / y`, and 0 if `y` is 0. Source: `tf.math.divide_no_nan`.
TRAINHOOK_DECL Output divide_no_nan(const Operand& x, const Operand& y, std::string_view name = {});

/// The error function. Source: `tf.math.erf`.
TRAINHOOK_DECL Output erf(Output x, std::string_view name = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/ops/impl/special.ipp>
#endif
