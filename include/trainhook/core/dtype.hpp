// SPDX-License-Identifier: Apache-2.0
/// @file
/// Element types of tensors, with TensorFlow's numbers and names.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include <trainhook/core/format.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook {

/// The type of a tensor's elements. The numbers are TensorFlow's `DataType` and are stored in files: never renumber.
enum class DType : std::uint8_t {
  Invalid = 0,
  Float = 1,
  Double = 2,
  Int32 = 3,
  UInt8 = 4,
  Int16 = 5,
  Int8 = 6,
  String = 7,
  Complex64 = 8,
  Int64 = 9,
  Bool = 10,
  BFloat16 = 14,
  UInt16 = 17,
  Complex128 = 18,
  Half = 19,
  UInt32 = 22,
  UInt64 = 23,
};

/// IEEE 754 binary16, as stored bits: this library stores it and does no arithmetic with it.
struct Half {
  std::uint16_t bits{};
  TRAINHOOK_DECL explicit operator float() const noexcept;
  friend bool operator==(Half, Half) = default;
};

/// bfloat16 as stored bits: the upper half of a float.
struct BFloat16 {
  std::uint16_t bits{};
  TRAINHOOK_DECL explicit operator float() const noexcept;
  friend bool operator==(BFloat16, BFloat16) = default;
};

/// Converts to float, exactly.
[[nodiscard]] TRAINHOOK_DECL float to_float(Half value) noexcept;
[[nodiscard]] TRAINHOOK_DECL float to_float(BFloat16 value) noexcept;

namespace detail {

struct DTypeInfo {
  DType dtype;
  std::string_view name;   // tf.float32.name
  std::string_view proto;  // as text protos spell it
  std::size_t size;        // bytes per element; 0 for strings
};

inline constexpr std::array kDTypes{
    DTypeInfo{DType::Float, "float32", "DT_FLOAT", 4},
    DTypeInfo{DType::Double, "float64", "DT_DOUBLE", 8},
    DTypeInfo{DType::Int32, "int32", "DT_INT32", 4},
    DTypeInfo{DType::UInt8, "uint8", "DT_UINT8", 1},
    DTypeInfo{DType::Int16, "int16", "DT_INT16", 2},
    DTypeInfo{DType::Int8, "int8", "DT_INT8", 1},
    DTypeInfo{DType::String, "string", "DT_STRING", 0},
    DTypeInfo{DType::Complex64, "complex64", "DT_COMPLEX64", 8},
    DTypeInfo{DType::Int64, "int64", "DT_INT64", 8},
    DTypeInfo{DType::Bool, "bool", "DT_BOOL", 1},
    DTypeInfo{DType::BFloat16, "bfloat16", "DT_BFLOAT16", 2},
    DTypeInfo{DType::UInt16, "uint16", "DT_UINT16", 2},
    DTypeInfo{DType::Complex128, "complex128", "DT_COMPLEX128", 16},
    DTypeInfo{DType::Half, "float16", "DT_HALF", 2},
    DTypeInfo{DType::UInt32, "uint32", "DT_UINT32", 4},
    DTypeInfo{DType::UInt64, "uint64", "DT_UINT64", 8},
};

constexpr const DTypeInfo* find_dtype(DType dtype) noexcept {
  for (const DTypeInfo& info : kDTypes) {
    if (info.dtype == dtype) return &info;
  }
  return nullptr;
}

/// `std::complex<Part>`, recognised without including its expensive header.
template <class T, class Part>
concept ComplexOf = sizeof(T) == 2 * sizeof(Part) && requires(const T& value) {
  requires std::same_as<typename T::value_type, Part>;
  { value.real() } -> std::same_as<Part>;
  { value.imag() } -> std::same_as<Part>;
};

template <class T>
inline constexpr DType kDTypeOf = DType::Invalid;
template <>
inline constexpr DType kDTypeOf<float> = DType::Float;
template <>
inline constexpr DType kDTypeOf<double> = DType::Double;
template <>
inline constexpr DType kDTypeOf<std::int32_t> = DType::Int32;
template <>
inline constexpr DType kDTypeOf<std::uint8_t> = DType::UInt8;
template <>
inline constexpr DType kDTypeOf<std::int16_t> = DType::Int16;
template <>
inline constexpr DType kDTypeOf<std::int8_t> = DType::Int8;
template <>
inline constexpr DType kDTypeOf<std::string> = DType::String;
template <ComplexOf<float> T>
inline constexpr DType kDTypeOf<T> = DType::Complex64;
template <>  // whichever of the two std::int64_t is
inline constexpr DType kDTypeOf<long> = sizeof(long) == 8 ? DType::Int64 : DType::Int32;
template <>
inline constexpr DType kDTypeOf<long long> = DType::Int64;
template <>
inline constexpr DType kDTypeOf<bool> = DType::Bool;
template <>
inline constexpr DType kDTypeOf<BFloat16> = DType::BFloat16;
template <>
inline constexpr DType kDTypeOf<std::uint16_t> = DType::UInt16;
template <ComplexOf<double> T>
inline constexpr DType kDTypeOf<T> = DType::Complex128;
template <>
inline constexpr DType kDTypeOf<Half> = DType::Half;
template <>
inline constexpr DType kDTypeOf<std::uint32_t> = DType::UInt32;
template <>
inline constexpr DType kDTypeOf<unsigned long> = sizeof(long) == 8 ? DType::UInt64 : DType::UInt32;
template <>
inline constexpr DType kDTypeOf<unsigned long long> = DType::UInt64;

}  // namespace detail

/// A C++ type that a tensor can hold; `std::string` is the element of string tensors.
template <class T>
concept TensorElement = detail::kDTypeOf<T> != DType::Invalid;

/// The dtype of a C++ element type.
template <TensorElement T>
inline constexpr DType dtype_of = detail::kDTypeOf<T>;

/// Bytes per element, in memory and in files; 0 for strings, which have no fixed size.
[[nodiscard]] constexpr std::size_t dtype_size(DType dtype) noexcept {
  const detail::DTypeInfo* info = detail::find_dtype(dtype);
  return info == nullptr ? 0 : info->size;
}

/// TensorFlow's short name, for example `float32`; `invalid` for any other value.
[[nodiscard]] constexpr std::string_view dtype_name(DType dtype) noexcept {
  const detail::DTypeInfo* info = detail::find_dtype(dtype);
  return info == nullptr ? "invalid" : info->name;
}

[[nodiscard]] constexpr bool is_floating(DType dtype) noexcept {
  return dtype == DType::Float || dtype == DType::Double || dtype == DType::Half || dtype == DType::BFloat16;
}

[[nodiscard]] constexpr bool is_integer(DType dtype) noexcept {
  using enum DType;
  return dtype == Int8 || dtype == Int16 || dtype == Int32 || dtype == Int64 || dtype == UInt8 || dtype == UInt16 ||
         dtype == UInt32 || dtype == UInt64;
}

}  // namespace trainhook

/// Prints `dtype_name()`.
template <>
struct fmt::formatter<trainhook::DType> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  auto format(trainhook::DType dtype, fmt::format_context& context) const {
    return trainhook::detail::append_text(context, trainhook::dtype_name(dtype));
  }
};

/// Prints the number, `1.5`.
template <>
struct fmt::formatter<trainhook::Half> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  auto format(trainhook::Half value, fmt::format_context& context) const {
    return trainhook::detail::append_text(context, trainhook::detail::number_text(trainhook::to_float(value)));
  }
};

template <>
struct fmt::formatter<trainhook::BFloat16> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  auto format(trainhook::BFloat16 value, fmt::format_context& context) const {
    return trainhook::detail::append_text(context, trainhook::detail::number_text(trainhook::to_float(value)));
  }
};

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/dtype.ipp>
#endif
