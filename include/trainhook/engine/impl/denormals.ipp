// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/engine/denormals.hpp>

#if defined(__SSE2__)

#include <xmmintrin.h>

namespace trainhook::detail {

ScopedDenormals::ScopedDenormals(Denormals how) noexcept : before_(_mm_getcsr()) {
  _mm_setcsr(how == Denormals::Flush ? before_ | kFlush : before_ & ~kFlush);
}

ScopedDenormals::~ScopedDenormals() { _mm_setcsr((_mm_getcsr() & ~kFlush) | (before_ & kFlush)); }

}  // namespace trainhook::detail

#endif
