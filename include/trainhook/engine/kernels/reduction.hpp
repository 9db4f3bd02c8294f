// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels that reduce dimensions: sums and others, and argmax.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>

namespace trainhook::kernels {

[[nodiscard]] TRAINHOOK_DECL KernelGroup reduction() noexcept;

}  // namespace trainhook::kernels

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/kernels/impl/reduction.ipp>
#endif
