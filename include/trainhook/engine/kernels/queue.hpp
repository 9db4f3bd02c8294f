// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of FIFOQueue: the session's queue, and the ops on it.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>

namespace trainhook::kernels {

[[nodiscard]] TRAINHOOK_DECL KernelGroup queue() noexcept;

}  // namespace trainhook::kernels

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/kernels/impl/queue.ipp>
#endif
