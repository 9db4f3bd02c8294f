// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of normalization over a batch of images [batch, height, width, channels], with its gradient.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>

namespace trainhook::kernels {

[[nodiscard]] TRAINHOOK_DECL KernelGroup normalization() noexcept;

}  // namespace trainhook::kernels

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/kernels/impl/normalization.ipp>
#endif
