// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/core/real_numbers.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <optional>

#include <trainhook/core/error.hpp>
#include <trainhook/core/finite.hpp>

namespace trainhook::detail {

void throw_not_real(DType dtype) { throw InvalidArgumentError("{} is no real number", dtype); }

std::optional<double> tensor_number(const Tensor& tensor) {
  if (tensor.num_elements() != 1 || !is_real(tensor.dtype())) return std::nullopt;
  double number = 0;
  read_doubles(tensor, 0, {&number, 1});
  return number;
}

void read_doubles(const Tensor& tensor, std::size_t first, std::span<double> to) {
  visit_real(tensor, [&](auto values) {
    std::ranges::transform(values.subspan(first, to.size()), to.begin(),
                           [](auto value) { return real_as<double>(value); });
  });
}

Tensor as_floats(const Tensor& tensor) {
  Tensor floats = Tensor::uninitialized(DType::Float, tensor.shape());
  visit_real(tensor, [&](auto values) {
    std::ranges::transform(values, floats.overwrite_data<float>().begin(),
                           [](auto value) { return real_as<float>(value); });
  });
  return floats;
}

/// The bits of a number in a format of 16 bits, with so many of them for the exponent.
template <int ExponentBits>
constexpr std::uint16_t to_16_bits(double value) noexcept {
  constexpr int kFraction = 15 - ExponentBits;
  constexpr int kBias = (1 << (ExponentBits - 1)) - 1;
  constexpr std::uint64_t kInfinity = ((std::uint64_t{1} << ExponentBits) - 1) << kFraction;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t sign = bits >> 63 << 15;
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023 + kBias;
  if (exponent == 0x7ff - 1023 + kBias && fraction != 0)  // NaN stays one, with its first bits
    return static_cast<std::uint16_t>(sign | kInfinity | std::uint64_t{1} << (kFraction - 1) |
                                      fraction >> (52 - kFraction));
  if (exponent >= (1 << ExponentBits) - 1) return static_cast<std::uint16_t>(sign | kInfinity);
  // A carry of the rounding goes into the exponent, and from the largest number to infinity.
  const int shift = exponent > 0 ? 52 - kFraction : 53 - kFraction - exponent;
  if (shift > 53) return static_cast<std::uint16_t>(sign);
  const std::uint64_t scaled =
      exponent > 0 ? static_cast<std::uint64_t>(exponent) << 52 | fraction : std::uint64_t{1} << 52 | fraction;
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  const std::uint64_t rounded = (scaled + half - 1 + (scaled >> shift & 1)) >> shift;
  return static_cast<std::uint16_t>(sign | rounded);
}

template <class To>
To float_as(double value) noexcept {
  if constexpr (StoredFloat<To>) {
    return To{to_16_bits < std::same_as<To, Half> ? 5 : 8 > (value)};
  } else {
    return static_cast<To>(value);
  }
}

template <class To>
void cast_floats_to(const Tensor& from, std::size_t first, std::span<std::byte> to) {
  visit_real(from, [&](const auto elements) {
    for (std::size_t i = 0; i < to.size() / sizeof(To); ++i) {
      const To number = float_as<To>(real_as<double>(elements[first + i]));
      std::memcpy(to.data() + i * sizeof(To), &number, sizeof(To));
    }
  });
}

// Calls `visit` with a number of the C++ type of a dtype of numbers.
template <class Visit>
void visit_number_type(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::Double: return visit(double());
    case DType::Half: return visit(Half());
    case DType::BFloat16: return visit(BFloat16());
    case DType::Int8: return visit(std::int8_t());  // NOLINT(bugprone-branch-clone): each has another type
    case DType::Int16: return visit(std::int16_t());
    case DType::Int32: return visit(std::int32_t());
    case DType::Int64: return visit(std::int64_t());
    case DType::UInt8: return visit(std::uint8_t());
    case DType::UInt16: return visit(std::uint16_t());
    case DType::UInt32: return visit(std::uint32_t());
    case DType::UInt64: return visit(std::uint64_t());
    default: return visit(float());
  }
}

void cast_floats(const Tensor& from, std::size_t first, DType dtype, std::span<std::byte> to) {
  visit_number_type(dtype, [&]<class To>(To /*like*/) {
    if constexpr (!std::integral<To>) cast_floats_to<To>(from, first, to);
  });
}

// The number as a `To`; nothing if that has no room for it.
template <class To>
std::optional<To> exact_range(double number) noexcept {
  if constexpr (std::integral<To>) {
    const double end = std::ldexp(1.0, std::numeric_limits<To>::digits);
    if (number >= end || number < (std::signed_integral<To> ? -end : 0.0)) return std::nullopt;
    return static_cast<To>(number);
  } else {
    const To rounded = float_as<To>(number);
    if (is_finite(number) && !is_finite(real_as<double>(rounded))) return std::nullopt;
    return rounded;
  }
}

template <class To>
void cast_numbers_to(const Tensor& from, CastNumbers& cast) {
  constexpr double kExact = 9007199254740992;  // the integers up to here are doubles
  const bool may_be_longer = from.dtype() == DType::Int64 || from.dtype() == DType::UInt64;
  const std::span<To> to = cast.values.overwrite_data<To>();
  std::array<double, 512> piece{};
  for (std::size_t first = 0; first < to.size(); first += piece.size()) {
    const std::span<double> numbers = std::span(piece).first((std::min)(piece.size(), to.size() - first));
    read_doubles(from, first, numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const double number = numbers[i];
      const bool was_longer = may_be_longer && (std::abs)(number) >= kExact;
      const std::optional<To> found = exact_range<To>(number);
      if (!found || (was_longer && std::integral<To>))
        throw InvalidArgumentError("{} has no exact place among {}", number, cast.values.dtype());
      to[first + i] = *found;
      const auto now = real_as<double>(*found);
      if (is_nan(number) || (now == number && !was_longer)) continue;
      ++cast.rounded;
      if (number != 0) cast.largest_change = (std::max)(cast.largest_change, (std::abs)((now - number) / number));
    }
  }
}

CastNumbers cast_numbers(const Tensor& from, DType dtype) {
  const auto is_number = [](DType type) { return is_floating(type) || is_integer(type); };
  if (!is_number(from.dtype()) || !is_number(dtype) || (is_floating(from.dtype()) && is_integer(dtype)))
    throw InvalidArgumentError("{} cannot become {}", from.dtype(), dtype);
  CastNumbers cast{.values = Tensor::uninitialized(dtype, from.shape())};
  visit_number_type(dtype, [&]<class To>(To /*like*/) { cast_numbers_to<To>(from, cast); });
  return cast;
}

}  // namespace trainhook::detail
