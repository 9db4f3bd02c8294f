// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/non_finite.hpp>

#include <cstdint>
#include <cstring>
#include <span>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>

namespace trainhook::detail {

/// The first of these numbers whose exponent has all bits set, which NaN and infinity have.
template <class Bits>
std::optional<std::size_t> first_with_exponent(std::span<const std::byte> bytes, Bits exponent) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + at, sizeof bits);
    if ((bits & exponent) == exponent) return at / sizeof bits;
  }
  return std::nullopt;
}

std::optional<std::size_t> first_non_finite(const StateMemory& elements) {
  constexpr std::uint32_t kFloat = 0x7f800000;
  constexpr std::uint64_t kDouble = 0x7ff0000000000000;
  const auto half = [](std::optional<std::size_t> place) { return place ? std::optional(*place / 2) : place; };
  switch (elements.dtype) {
    case DType::Half: return first_with_exponent(elements.bytes, std::uint16_t{0x7c00});
    case DType::BFloat16: return first_with_exponent(elements.bytes, std::uint16_t{0x7f80});
    case DType::Float: return first_with_exponent(elements.bytes, kFloat);
    case DType::Double: return first_with_exponent(elements.bytes, kDouble);
    case DType::Complex64: return half(first_with_exponent(elements.bytes, kFloat));
    case DType::Complex128: return half(first_with_exponent(elements.bytes, kDouble));
    default: return std::nullopt;
  }
}

void expect_finite(const std::string& name, const StateMemory& elements, const std::string& prefix) {
  const auto place = first_non_finite(elements);
  if (!place) return;
  throw FailedPreconditionError(
      "checkpoint {} is not written: element {} of '{}' is NaN or infinite, and refuse_non_finite is set; go back to "
      "an earlier checkpoint, with a lower learning rate for example",
      prefix, *place, name);
}

}  // namespace trainhook::detail
