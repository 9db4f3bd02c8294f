// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of elementwise arithmetic, comparison, logic and functions, with NumPy's broadcasting.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>

namespace trainhook::kernels {

[[nodiscard]] TRAINHOOK_DECL KernelGroup math() noexcept;

}  // namespace trainhook::kernels

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/kernels/impl/math.ipp>
#endif
