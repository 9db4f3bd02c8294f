// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of depthwise convolution over images [batch, height, width, channels], with its gradients.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>

namespace trainhook::kernels {

[[nodiscard]] TRAINHOOK_DECL KernelGroup depthwise() noexcept;

}  // namespace trainhook::kernels

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/kernels/impl/depthwise.ipp>
#endif
