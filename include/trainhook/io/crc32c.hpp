// SPDX-License-Identifier: Apache-2.0
/// @file
/// CRC32C (Castagnoli), the checksum of records, tables and tensors, and the masked form that files store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <trainhook/core/linkage.hpp>

namespace trainhook::crc32c {
namespace detail {

/// The version for any processor: eight table look-ups for eight bytes.
TRAINHOOK_DECL std::uint32_t extend_by_table(std::uint32_t crc, std::span<const std::byte> bytes) noexcept;

#if defined(__x86_64__)
TRAINHOOK_DECL bool has_instruction() noexcept;
TRAINHOOK_DECL __attribute__((target("sse4.2,crc32"))) std::uint32_t extend_by_instruction(
    std::uint32_t crc, std::span<const std::byte> bytes) noexcept;
#else
constexpr bool has_instruction() noexcept { return false; }
inline std::uint32_t extend_by_instruction(std::uint32_t crc, std::span<const std::byte> bytes) noexcept {
  return extend_by_table(crc, bytes);
}
#endif

}  // namespace detail

/// The checksum of the data that `crc` covers followed by `bytes`: `extend(value(a), b) == value(a + b)`.
[[nodiscard]] TRAINHOOK_DECL std::uint32_t extend(std::uint32_t crc, std::span<const std::byte> bytes) noexcept;
[[nodiscard]] TRAINHOOK_DECL std::uint32_t extend(std::uint32_t crc, std::string_view text) noexcept;

[[nodiscard]] inline std::uint32_t value(std::span<const std::byte> bytes) noexcept { return extend(0, bytes); }
[[nodiscard]] inline std::uint32_t value(std::string_view text) noexcept { return extend(0, text); }

inline constexpr std::uint32_t kMaskDelta = 0xa282ead8u;

/// The form in which files store a checksum, because a checksum of data that contains its own checksums is weak.
[[nodiscard]] constexpr std::uint32_t mask(std::uint32_t crc) noexcept {
  return ((crc >> 15) | (crc << 17)) + kMaskDelta;
}

/// Whether a stored checksum matches the computed one. Every reader compares here.
[[nodiscard]] constexpr bool agree(std::uint32_t stored, std::uint32_t computed) noexcept { return stored == computed; }

}  // namespace trainhook::crc32c

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/crc32c.ipp>
#endif
