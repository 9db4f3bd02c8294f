// SPDX-License-Identifier: Apache-2.0
/// @file
/// cast_floats: floating-point elements in another precision.
#pragma once

#include <cstddef>
#include <span>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook::detail {

/// Writes the elements of a tensor from `first` on as elements of `dtype`, as many as `to` holds. Both are
/// floating-point dtypes. Each number is rounded once, to the nearest, ties to even; what is too large becomes
/// infinity.
TRAINHOOK_DECL void cast_floats(const Tensor& from, std::size_t first, DType dtype, std::span<std::byte> to);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/exchange/impl/cast_floats.ipp>
#endif
