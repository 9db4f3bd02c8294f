// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of convolution over images [batch, height, width, channels], with its gradients.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>

namespace trainhook::kernels {

[[nodiscard]] TRAINHOOK_DECL KernelGroup conv() noexcept;

}  // namespace trainhook::kernels

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/kernels/impl/conv.ipp>
#endif
