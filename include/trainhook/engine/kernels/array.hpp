// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of shapes, reshaping, filling, casting and one-hot vectors.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>

namespace trainhook::kernels {

[[nodiscard]] TRAINHOOK_DECL KernelGroup array() noexcept;

}  // namespace trainhook::kernels

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/kernels/impl/array.ipp>
#endif
