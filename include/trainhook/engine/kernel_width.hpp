// SPDX-License-Identifier: Apache-2.0
/// @file
/// KernelWidth: kernels that are compiled for one width of the processor's vectors. VectorKernels: those that gain from
/// wide ones, which the compiled library has once for each width.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>

namespace trainhook::kernels::detail {

using VectorKernels = std::array<KernelGroup, 10>;

/// The groups as they are compiled here, always in the same order. It is the one function that an object for wider
/// vectors shows the linker, there with the width at the end of its name; so it has a name that tools can write.
extern "C" [[nodiscard]] TRAINHOOK_DECL const VectorKernels* trainhook_vector_kernels() noexcept;

}  // namespace trainhook::kernels::detail

namespace trainhook::detail {

/// A width of vectors, named by the instructions that have it: "sse2", "avx2", "avx512", "neon".
struct KernelWidth {
  std::string_view name;
  bool (*is_supported)() noexcept;  // by the processor
  const kernels::detail::VectorKernels* (*kernels)() noexcept;

  /// The group as it is compiled for this width; itself if it is none of the vector kernels.
  [[nodiscard]] TRAINHOOK_DECL KernelGroup of(KernelGroup group) const noexcept;
};

/// The widths of this program, narrowest first: the one that the compiler's options give, and those that a compiled
/// library has beside it.
[[nodiscard]] TRAINHOOK_DECL std::span<const KernelWidth> kernel_widths() noexcept;

/// The width of that name; for an empty name the widest that the processor has. @throws InvalidArgumentError if the
/// program or the processor lacks it.
[[nodiscard]] TRAINHOOK_DECL const KernelWidth& kernel_width(std::string_view name);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/impl/kernel_width.ipp>
#include <trainhook/engine/kernels/impl/vector_kernels.ipp>
#endif
