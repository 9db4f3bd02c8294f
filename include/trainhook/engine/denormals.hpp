// SPDX-License-Identifier: Apache-2.0
/// @file
/// How the processor treats denormal floats, the ones too small for a full mantissa.
#pragma once

#include <trainhook/core/linkage.hpp>

namespace trainhook {
namespace detail {

enum class Denormals { Keep, Flush };

/// Sets the treatment of denormals for this thread, and restores the former one when destroyed. A GraphSession flushes:
/// denormals count as zero and results that small become zero. Otherwise moments of gradients that stay at zero decay
/// into denormals for good, and a step takes ten times as long. Follows TensorFlow's `ScopedFlushDenormal`. Does
/// nothing on processors without SSE.
class ScopedDenormals {
 public:
#if defined(__SSE2__)
  TRAINHOOK_DECL explicit ScopedDenormals(Denormals how) noexcept;
  TRAINHOOK_DECL ~ScopedDenormals();
#else
  explicit ScopedDenormals(Denormals /*how*/) noexcept {}
#endif
  ScopedDenormals(const ScopedDenormals&) = delete;
  ScopedDenormals& operator=(const ScopedDenormals&) = delete;

 private:
#if defined(__SSE2__)
  static constexpr unsigned kFlush = 0x8040;  // flush to zero, and denormals are zeros
  unsigned before_;
#endif
};

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/impl/denormals.ipp>
#endif
