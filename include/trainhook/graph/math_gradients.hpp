// SPDX-License-Identifier: Apache-2.0
/// @file
/// Gradients of elementwise arithmetic, matrix products and reductions.
#pragma once

#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/array_gradients.hpp>
#include <trainhook/graph/gradient_registry.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook::detail {

/// `grad`, of the broadcast shape of `x` and `other`, summed to the shape of `x`.
TRAINHOOK_DECL Output unbroadcast(const Output& grad, const Output& x, const Output& other);

/// A gradient function of a broadcasting op from its two partial gradients.
template <class Left, class Right>
GradientFunction broadcasting(Left left, Right right) {
  return [left, right](const GradientContext& context) {
    const Output x = context.input(0);
    const Output y = context.input(1);
    Grads result(2);
    if (context.needs(0)) result[0] = unbroadcast(left(context, x, y), x, y);
    if (context.needs(1)) result[1] = unbroadcast(right(context, x, y), y, x);
    return result;
  };
}

/// A gradient function of an op of one input: `partial(context, x, grad)`.
template <class Partial>
GradientFunction elementwise(Partial partial) {
  return
      [partial](const GradientContext& context) { return Grads{partial(context, context.input(0), context.grad())}; };
}

/// The gradient of a sum spread over the elements that went into it.
TRAINHOOK_DECL Output spread(const GradientContext& context, const Output& grad, const std::vector<std::size_t>& axes);

TRAINHOOK_DECL void add_reduction_gradients(GradientRegistry& registry);
TRAINHOOK_DECL void add_binary_gradients(GradientRegistry& registry);
TRAINHOOK_DECL void add_unary_gradients(GradientRegistry& registry);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/math_gradients.ipp>
#endif
