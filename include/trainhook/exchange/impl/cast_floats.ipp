// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of cast_floats.hpp.
#pragma once

#include <trainhook/exchange/cast_floats.hpp>

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>

#include <trainhook/core/real_numbers.hpp>

namespace trainhook::detail {

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

void cast_floats(const Tensor& from, std::size_t first, DType dtype, std::span<std::byte> to) {
  switch (dtype) {
    case DType::Double: return cast_floats_to<double>(from, first, to);
    case DType::Half: return cast_floats_to<Half>(from, first, to);
    case DType::BFloat16: return cast_floats_to<BFloat16>(from, first, to);
    default: return cast_floats_to<float>(from, first, to);
  }
}

}  // namespace trainhook::detail
