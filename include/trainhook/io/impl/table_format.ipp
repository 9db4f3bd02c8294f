// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of table_format.hpp.
#pragma once

#include <trainhook/io/table_format.hpp>

#include <trainhook/core/coding.hpp>

namespace trainhook::detail {

void BlockHandle::append_to(std::string& text) const {
  append_varint(text, offset);
  append_varint(text, size);
}

std::optional<BlockHandle> BlockHandle::take(std::string_view& text) noexcept {
  const std::optional<std::uint64_t> offset = take_varint(text);
  if (!offset) return std::nullopt;
  const std::optional<std::uint64_t> size = take_varint(text);
  if (!size) return std::nullopt;
  return BlockHandle{*offset, *size};
}

}  // namespace trainhook::detail
