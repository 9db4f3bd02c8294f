// SPDX-License-Identifier: Apache-2.0
/// @file
/// What kind of number a number is, by its bits: with -ffast-math a compiler may take std::isnan for false.
#pragma once

#include <bit>
#include <cstdint>

namespace trainhook::detail {

[[nodiscard]] constexpr bool is_finite(float number) noexcept {
  return (std::bit_cast<std::uint32_t>(number) & 0x7f80'0000U) != 0x7f80'0000U;
}
[[nodiscard]] constexpr bool is_finite(double number) noexcept {
  return (std::bit_cast<std::uint64_t>(number) & 0x7ff0'0000'0000'0000U) != 0x7ff0'0000'0000'0000U;
}

[[nodiscard]] constexpr bool is_nan(float number) noexcept {
  return (std::bit_cast<std::uint32_t>(number) & 0x7fff'ffffU) > 0x7f80'0000U;
}
[[nodiscard]] constexpr bool is_nan(double number) noexcept {
  return (std::bit_cast<std::uint64_t>(number) & 0x7fff'ffff'ffff'ffffU) > 0x7ff0'0000'0000'0000U;
}

[[nodiscard]] constexpr bool is_negative(double number) noexcept {
  return std::bit_cast<std::uint64_t>(number) >> 63U != 0;
}

/// `nan`, `inf` or `-inf`, for a number that is not finite.
[[nodiscard]] constexpr const char* non_finite_text(double number) noexcept {
  return is_nan(number) ? "nan" : is_negative(number) ? "-inf" : "inf";
}

}  // namespace trainhook::detail
