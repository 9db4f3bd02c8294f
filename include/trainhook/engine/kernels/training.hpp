// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of optimizers, each a single pass over a variable, its slots and its gradient.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>

namespace trainhook::kernels {

[[nodiscard]] TRAINHOOK_DECL KernelGroup training() noexcept;

}  // namespace trainhook::kernels

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/kernels/impl/training.ipp>
#endif
