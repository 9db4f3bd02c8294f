// SPDX-License-Identifier: Apache-2.0
/// @file
/// The processor's intrinsics, without the warnings of g++ about its own. Include it before Eigen, which includes them.
#pragma once

#if defined(__SSE2__)
// g++ 12 takes the undefined operands of its AVX-512 intrinsics for mistakes (GCC bug 105593) and says so for each use,
// unless that is switched off where the header is included first.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#endif
