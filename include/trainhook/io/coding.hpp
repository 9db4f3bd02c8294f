// SPDX-License-Identifier: Apache-2.0
/// @file
/// Little-endian numbers and varints in byte strings, for the formats that are not protobuf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL void append_fixed32(std::string& text, std::uint32_t value);
TRAINHOOK_DECL void append_fixed64(std::string& text, std::uint64_t value);
TRAINHOOK_DECL void append_varint(std::string& text, std::uint64_t value);

/// The caller has checked that four bytes are there.
[[nodiscard]] TRAINHOOK_DECL std::uint32_t fixed32_at(std::string_view text, std::size_t offset) noexcept;

/// The caller has checked that eight bytes are there.
[[nodiscard]] TRAINHOOK_DECL std::uint64_t fixed64_at(std::string_view text, std::size_t offset) noexcept;

/// Takes a varint off the front; nothing if the text ends inside it or it is longer than 64 bits.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::uint64_t> take_varint(std::string_view& text) noexcept;

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/coding.ipp>
#endif
