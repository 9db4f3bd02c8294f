// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels whose result is a serialized `Summary` for TensorBoard.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>

namespace trainhook::kernels {

[[nodiscard]] TRAINHOOK_DECL KernelGroup summary() noexcept;

}  // namespace trainhook::kernels

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/kernels/impl/summary.ipp>
#endif
