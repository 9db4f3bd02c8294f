// SPDX-License-Identifier: Apache-2.0
/// @file
/// The groups of kernels that gain from wide vectors. The compiled library has them once for each width of vectors.
#pragma once

#include <array>

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>

namespace trainhook::kernels::detail {

using VectorKernels = std::array<KernelGroup, 10>;

/// The groups as they are compiled here, always in the same order. It is the one function that an object for wider
/// vectors shows the linker, there with the width at the end of its name; so it has a name that tools can write.
extern "C" [[nodiscard]] TRAINHOOK_DECL const VectorKernels* trainhook_vector_kernels() noexcept;

}  // namespace trainhook::kernels::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/kernels/impl/vector_kernels.ipp>
#endif
