// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of partitions, counts of equal elements, sparse and accidental hits.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>

namespace trainhook::kernels {

[[nodiscard]] TRAINHOOK_DECL KernelGroup partition() noexcept;

}  // namespace trainhook::kernels

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/kernels/impl/partition.ipp>
#endif
