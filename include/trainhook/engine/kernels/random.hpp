// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of random ops, with counter-based generators whose positions are part of the session's state.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>

namespace trainhook::kernels {

[[nodiscard]] TRAINHOOK_DECL KernelGroup random() noexcept;

}  // namespace trainhook::kernels

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/kernels/impl/random.ipp>
#endif
