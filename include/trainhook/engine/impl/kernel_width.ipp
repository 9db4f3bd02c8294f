// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/engine/kernel_width.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include <trainhook/core/error.hpp>

namespace trainhook::kernels::detail {

// The build defines TRAINHOOK_WIDTHS for this file if it puts objects for these widths into the library.
#ifdef TRAINHOOK_WIDTHS
extern "C" const VectorKernels* trainhook_vector_kernels_avx2() noexcept;
extern "C" const VectorKernels* trainhook_vector_kernels_avx512() noexcept;
#endif

}  // namespace trainhook::kernels::detail

namespace trainhook::detail {

#if defined(__AVX512F__)
inline constexpr std::string_view kOwnWidth = "avx512";
#elif defined(__AVX2__) && defined(__FMA__)
inline constexpr std::string_view kOwnWidth = "avx2";
#elif defined(__AVX__)
inline constexpr std::string_view kOwnWidth = "avx";
#elif defined(__SSE2__)
inline constexpr std::string_view kOwnWidth = "sse2";
#elif defined(__ARM_NEON)
inline constexpr std::string_view kOwnWidth = "neon";
#else
inline constexpr std::string_view kOwnWidth = "scalar";
#endif

KernelGroup KernelWidth::of(KernelGroup group) const noexcept {
  const kernels::detail::VectorKernels& own = *kernels::detail::trainhook_vector_kernels();
  const auto found = std::ranges::find(own, group.data(), &KernelGroup::data);
  return found == own.end() ? group : (*kernels())[static_cast<std::size_t>(found - own.begin())];
}

std::span<const KernelWidth> kernel_widths() noexcept {
  static constexpr std::array widths{
      KernelWidth{kOwnWidth, []() noexcept { return true; }, kernels::detail::trainhook_vector_kernels},
#ifdef TRAINHOOK_WIDTHS
      KernelWidth{"avx2",
                  []() noexcept { return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0; },
                  kernels::detail::trainhook_vector_kernels_avx2},
      KernelWidth{"avx512",
                  []() noexcept {
                    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
                           __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0;
                  },
                  kernels::detail::trainhook_vector_kernels_avx512},
#endif
  };
  return widths;
}

const KernelWidth& kernel_width(std::string_view name) {
  const std::span<const KernelWidth> widths = kernel_widths();
  std::string names;
  for (auto width = widths.rbegin(); width != widths.rend(); ++width) {
    if (!width->is_supported()) continue;
    if (name.empty() || name == width->name) return *width;
    names += (names.empty() ? "" : ", ") + std::string(width->name);
  }
  throw InvalidArgumentError("there are no kernels of width '{}' for this processor in this program, only {}", name,
                             names);
}

}  // namespace trainhook::detail
