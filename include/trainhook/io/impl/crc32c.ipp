// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/io/crc32c.hpp>

#include <array>
#include <cstring>

namespace trainhook::crc32c::detail {

/// The polynomial. All polynomials in this file have their lowest power in the highest bit.
inline constexpr std::uint32_t kPolynomial = 0x82f63b78u;

/// Multiplies by x, which advances by one bit.
constexpr std::uint32_t times_x(std::uint32_t value) noexcept {
  return (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0u);
}

/// The product of two polynomials modulo the CRC's polynomial.
constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) noexcept {
  std::uint32_t product = 0;
  for (std::uint32_t bit = 0x80000000u; bit != 0; bit >>= 1) {
    product ^= (a & bit) != 0 ? b : 0u;
    b = times_x(b);
  }
  return product;
}

/// x^(8 * bytes): multiplying a register by it has the effect of that many zero bytes.
constexpr std::uint32_t power_of_bytes(std::uint64_t bytes) noexcept {
  std::uint32_t result = 0x80000000u;  // 1
  std::uint32_t square = 0x00800000u;  // x^8
  for (; bytes != 0; bytes >>= 1) {
    if ((bytes & 1) != 0) result = multiply(result, square);
    square = multiply(square, square);
  }
  return result;
}

/// `[k][b]`: the effect of byte b on the register if k more bytes follow it.
inline std::array<std::array<std::uint32_t, 256>, 8> make_tables() noexcept {
  std::array<std::array<std::uint32_t, 256>, 8> result{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = times_x(value);
    result[0][byte] = value;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = result[k - 1][byte];
      result[k][byte] = (before >> 8) ^ result[0][before & 255];
    }
  }
  return result;
}

std::uint32_t extend_by_table(std::uint32_t crc, std::span<const std::byte> bytes) noexcept {
  static const auto table = make_tables();
  const auto at = [&](std::size_t i) { return std::to_integer<std::uint32_t>(bytes[i]); };
  std::uint32_t state = ~crc;
  std::size_t i = 0;
  for (; bytes.size() - i >= 8; i += 8) {
    state = table[7][at(i) ^ (state & 255)] ^ table[6][at(i + 1) ^ (state >> 8 & 255)] ^
            table[5][at(i + 2) ^ (state >> 16 & 255)] ^ table[4][at(i + 3) ^ (state >> 24)] ^ table[3][at(i + 4)] ^
            table[2][at(i + 5)] ^ table[1][at(i + 6)] ^ table[0][at(i + 7)];
  }
  for (; i < bytes.size(); ++i) state = table[0][at(i) ^ (state & 255)] ^ (state >> 8);
  return ~state;
}

#if defined(__x86_64__)
bool has_instruction() noexcept { return __builtin_cpu_supports("sse4.2") != 0; }

__attribute__((target("sse4.2,crc32"))) inline std::uint64_t step(std::uint64_t state, const std::byte* from) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return __builtin_ia32_crc32di(state, word);
}

/// Three stretches of `Stretch` bytes side by side: the instruction takes three cycles, but one can start every cycle.
template <std::size_t Stretch>
__attribute__((target("sse4.2,crc32"))) inline std::uint64_t step_three_stretches(std::uint64_t state,
                                                                                  const std::byte* from) noexcept {
  std::uint64_t first = state;
  std::uint64_t second = 0;
  std::uint64_t third = 0;
  for (const std::byte* const end = from + Stretch; from != end; from += 8) {
    first = step(first, from);
    second = step(second, from + Stretch);
    third = step(third, from + 2 * Stretch);
  }
  constexpr std::uint32_t kSkip = power_of_bytes(Stretch);
  const std::uint32_t two = multiply(static_cast<std::uint32_t>(first), kSkip) ^ static_cast<std::uint32_t>(second);
  return multiply(two, kSkip) ^ third;
}

__attribute__((target("sse4.2,crc32"))) std::uint32_t extend_by_instruction(std::uint32_t crc,
                                                                            std::span<const std::byte> bytes) noexcept {
  constexpr std::size_t kLong = 8192;
  constexpr std::size_t kShort = 512;
  const std::byte* from = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t state = ~crc;
  for (; left >= 3 * kLong; from += 3 * kLong, left -= 3 * kLong) state = step_three_stretches<kLong>(state, from);
  for (; left >= 3 * kShort; from += 3 * kShort, left -= 3 * kShort) state = step_three_stretches<kShort>(state, from);
  for (; left >= 8; from += 8, left -= 8) state = step(state, from);
  auto narrow = static_cast<std::uint32_t>(state);
  for (; left > 0; ++from, --left) narrow = __builtin_ia32_crc32qi(narrow, std::to_integer<unsigned char>(*from));
  return ~narrow;
}
#endif

}  // namespace trainhook::crc32c::detail

namespace trainhook::crc32c {

std::uint32_t extend(std::uint32_t crc, std::span<const std::byte> bytes) noexcept {
  return detail::has_instruction() ? detail::extend_by_instruction(crc, bytes) : detail::extend_by_table(crc, bytes);
}

std::uint32_t extend(std::uint32_t crc, std::string_view text) noexcept {
  return extend(crc, std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace trainhook::crc32c
