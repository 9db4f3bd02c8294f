// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels that rearrange elements: space, depth and batch, mirror padding, sequences, bands.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>

namespace trainhook::kernels {

[[nodiscard]] TRAINHOOK_DECL KernelGroup rearrange() noexcept;

}  // namespace trainhook::kernels

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/kernels/impl/rearrange.ipp>
#endif
