// SPDX-License-Identifier: Apache-2.0
/// @file
/// Numbers in another dtype: cast_floats rounds them, cast_numbers also says what was lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook::detail {

/// Writes the elements of a tensor from `first` on as elements of `dtype`, as many as `to` holds. They are real
/// numbers, and `dtype` is a floating-point one. Each number is rounded once, to the nearest, ties to even; what is too
/// large becomes infinity.
TRAINHOOK_DECL void cast_floats(const Tensor& from, std::size_t first, DType dtype, std::span<std::byte> to);

/// What `cast_numbers` returns.
struct CastNumbers {
  Tensor values{};
  std::uint64_t rounded = 0;  ///< how many of them are no longer the same numbers
  double largest_change = 0;  ///< among those, in parts of the number
};

/// The numbers of a tensor in another dtype, rounded to the nearest where that has less precision.
/// @throws InvalidArgumentError if one of them has no such counterpart: it is out of the range of `dtype`, or an
/// integer is wanted of a floating-point number; and for truth values, complex numbers and text.
[[nodiscard]] TRAINHOOK_DECL CastNumbers cast_numbers(const Tensor& from, DType dtype);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/cast_numbers.ipp>
#endif
