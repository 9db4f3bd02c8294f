// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of Switch and Merge, assertions, and Print.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>

namespace trainhook::kernels {

[[nodiscard]] TRAINHOOK_DECL KernelGroup control_flow() noexcept;

}  // namespace trainhook::kernels

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/kernels/impl/control_flow.ipp>
#endif
