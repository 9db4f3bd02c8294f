// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of TrainhookAllReduce and its two halves, TrainhookAllReduceStart and TrainhookAllReduceFinish.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>

namespace trainhook::kernels {

[[nodiscard]] TRAINHOOK_DECL KernelGroup all_reduce() noexcept;

}  // namespace trainhook::kernels

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/kernels/impl/all_reduce.ipp>
#endif
