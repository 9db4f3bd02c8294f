// SPDX-License-Identifier: Apache-2.0
/// @file
/// Gradients of convolution and pooling.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/gradient_registry.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL void add_conv_gradients(GradientRegistry& registry);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/conv_gradients.ipp>
#endif
