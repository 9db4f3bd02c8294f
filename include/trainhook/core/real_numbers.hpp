// SPDX-License-Identifier: Apache-2.0
/// @file
/// Which tensors are real numbers, and their conversion: to C++ numbers, the same for summaries, hooks and metrics; and
/// to another dtype, where cast_floats rounds them and cast_numbers also says what was lost.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook::detail {

/// Whether the elements are numbers that have an order; a bool counts as 0 or 1.
[[nodiscard]] constexpr bool is_real(DType dtype) noexcept {
  return is_floating(dtype) || is_integer(dtype) || dtype == DType::Bool;
}

/// One of this library's number types that C++ cannot calculate with.
template <class T>
concept StoredFloat = std::same_as<T, Half> || std::same_as<T, BFloat16>;

/// A real number as a `To`, rounded once.
template <class To, class T>
[[nodiscard]] To real_as(T value) noexcept {
  if constexpr (StoredFloat<T>) {
    return static_cast<To>(to_float(value));
  } else {
    return static_cast<To>(value);
  }
}

/// @throws InvalidArgumentError.
[[noreturn]] TRAINHOOK_DECL void throw_not_real(DType dtype);

/// Calls `visit` with the elements of a tensor as a span of their type.
/// @throws InvalidArgumentError if they are not real numbers.
template <class Visit>
auto visit_real(const Tensor& tensor, const Visit& visit) {
  switch (tensor.dtype()) {
    case DType::Float: return visit(tensor.data<float>());
    case DType::Double: return visit(tensor.data<double>());
    case DType::Half: return visit(tensor.data<Half>());
    case DType::BFloat16: return visit(tensor.data<BFloat16>());
    case DType::Int8: return visit(tensor.data<std::int8_t>());
    case DType::Int16: return visit(tensor.data<std::int16_t>());
    case DType::Int32: return visit(tensor.data<std::int32_t>());
    case DType::Int64: return visit(tensor.data<std::int64_t>());
    case DType::UInt8: return visit(tensor.data<std::uint8_t>());
    case DType::UInt16: return visit(tensor.data<std::uint16_t>());
    case DType::UInt32: return visit(tensor.data<std::uint32_t>());
    case DType::UInt64: return visit(tensor.data<std::uint64_t>());
    case DType::Bool: return visit(tensor.data<bool>());
    default: throw_not_real(tensor.dtype());
  }
}

/// The only element of a tensor of real numbers; nothing for other tensors.
[[nodiscard]] TRAINHOOK_DECL std::optional<double> tensor_number(const Tensor& tensor);

/// The elements from `first` on, as doubles, as many as `to` holds. @throws as `visit_real`.
TRAINHOOK_DECL void read_doubles(const Tensor& tensor, std::size_t first, std::span<double> to);

/// The real numbers of a tensor as floats, in its shape. @throws as `visit_real`.
[[nodiscard]] TRAINHOOK_DECL Tensor as_floats(const Tensor& tensor);

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
#include <trainhook/core/impl/real_numbers.ipp>
#endif
