// SPDX-License-Identifier: Apache-2.0
/// @file
/// KernelWidth: kernels that are compiled for one width of the processor's vectors.
#pragma once

#include <span>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>
#include <trainhook/engine/kernels/vector_kernels.hpp>

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
#endif
