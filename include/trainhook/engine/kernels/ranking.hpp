// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of the largest elements of rows: top_k, in_top_k.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>

namespace trainhook::kernels {

[[nodiscard]] TRAINHOOK_DECL KernelGroup ranking() noexcept;

}  // namespace trainhook::kernels

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/kernels/impl/ranking.ipp>
#endif
