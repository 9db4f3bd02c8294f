// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of queues: what the session holds for a FIFOQueue, and the ops that wait for it.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>

namespace trainhook::kernels {

[[nodiscard]] TRAINHOOK_DECL KernelGroup queue() noexcept;

}  // namespace trainhook::kernels

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/kernels/impl/queue.ipp>
#endif
