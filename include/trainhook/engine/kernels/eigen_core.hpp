// SPDX-License-Identifier: Apache-2.0
/// @file
/// Eigen's core, as kernels include it: g++ 12 takes the undefined operands of its own AVX-512 intrinsics for mistakes (GCC bug 105593) and says so
/// once for each use, with any warning option of a user's. What it says there depends on where the intrinsics are included.
#pragma once

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

#include <Eigen/Core>
