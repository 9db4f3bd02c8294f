// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels that update rows of variables, and kernels of Adadelta and Ftrl.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>

namespace trainhook::kernels {

[[nodiscard]] TRAINHOOK_DECL KernelGroup sparse_training() noexcept;

}  // namespace trainhook::kernels

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/kernels/impl/sparse_training.ipp>
#endif
