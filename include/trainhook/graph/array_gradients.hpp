// SPDX-License-Identifier: Apache-2.0
/// @file
/// Gradients of the ops that rearrange and select.
#pragma once

#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/gradient_registry.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook::detail {

using Grads = std::vector<Output>;

/// `grad` with the shape of `x`, which has as many elements.
TRAINHOOK_DECL Output reshape_like(const Output& grad, const Output& x);

/// The scalar that fills `grad` where it is a Fill: a product with it needs no broadcast.
TRAINHOOK_DECL Output fill_value(const Output& grad);

TRAINHOOK_DECL void add_array_gradients(GradientRegistry& registry);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/array_gradients.ipp>
#endif
