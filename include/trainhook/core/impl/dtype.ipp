// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/core/dtype.hpp>

#include <bit>
#include <cmath>

namespace trainhook {

float to_float(Half value) noexcept {
  const std::uint32_t exponent = (value.bits >> 10) & 0x1f;
  const std::uint32_t fraction = value.bits & 0x3ff;
  float magnitude = std::ldexp(static_cast<float>(exponent == 0 ? fraction : fraction | 0x400),
                               exponent == 0 ? -24 : static_cast<int>(exponent) - 25);
  if (exponent == 31) magnitude = std::bit_cast<float>(0x7f80'0000U | fraction << 13);
  return (value.bits & 0x8000) != 0 ? -magnitude : magnitude;
}

float to_float(BFloat16 value) noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16); }

Half::operator float() const noexcept { return to_float(*this); }

BFloat16::operator float() const noexcept { return to_float(*this); }

}  // namespace trainhook
