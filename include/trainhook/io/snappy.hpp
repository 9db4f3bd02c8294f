// SPDX-License-Identifier: Apache-2.0
/// @file
/// Snappy, the compression of blocks in table files that other programs write.
///
///     packed  = size:varint32 element*                         size of the unpacked text
///     element = tag:u8, whose lowest two bits tell which:
///       00  literal: its upper six bits are the length less 1; 60 to 63: the length less 1 follows in 1 to 4 bytes
///       01  copy: length 4 + 3 bits, offset 11 bits: the upper three bits of the tag, then a byte
///       10  copy: length 1 + 6 bits, offset in two bytes
///       11  copy: length 1 + 6 bits, offset in four bytes
///
/// Numbers are little-endian. A copy repeats what stands `offset` bytes before the end of the text unpacked so far; it
/// may be longer than its offset, and then repeats its own bytes. Source: google/snappy, format_description.txt.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// Unpacks a text; nothing if `packed` is not what Snappy makes. Takes memory for at most 22 times its size.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::string> unpack_snappy(std::string_view packed);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/snappy.ipp>
#endif
