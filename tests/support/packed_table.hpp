// SPDX-License-Identifier: Apache-2.0
/// @file
/// Table files whose blocks are packed, which the library reads and does not write.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <trainhook/core/coding.hpp>
#include <trainhook/io/crc32c.hpp>
#include <trainhook/io/tables.hpp>

namespace trainhook::support {

/// Snappy of the poorest kind: literals.
[[nodiscard]] inline std::string as_literals(std::string_view text) {
  std::string packed;
  detail::append_varint(packed, text.size());
  for (; !text.empty(); text.remove_prefix((std::min)(text.size(), std::size_t{60}))) {
    const std::string_view piece = text.substr(0, 60);
    packed += static_cast<char>((piece.size() - 1) << 2);
    packed += piece;
  }
  return packed;
}

/// Appends a block of this type, with its checksum.
[[nodiscard]] inline detail::BlockHandle append_block(std::string& file, std::string_view stored, char type) {
  const detail::BlockHandle handle{file.size(), stored.size()};
  file.append(stored) += type;
  detail::append_fixed(file, crc32c::mask(crc32c::value(std::string_view(file).substr(handle.offset))));
  return handle;
}

[[nodiscard]] inline std::string table_footer(const detail::BlockHandle& metaindex, const detail::BlockHandle& index) {
  std::string footer;
  metaindex.append_to(footer);
  index.append_to(footer);
  footer.resize(detail::kTableFooterSize - 8);
  detail::append_fixed(footer, detail::kTableMagic);
  return footer;
}

/// The entries of a table in blocks of three, each packed as literals; `type` is what the blocks say of themselves.
[[nodiscard]] inline std::string packed_table(const std::string& plain, char type = 1) {
  std::string file;
  detail::BlockBuilder block(detail::kRestartInterval), index(detail::kIndexRestartInterval);
  std::string last;
  int held = 0;
  const auto finish_block = [&] {
    std::string handle;
    append_block(file, as_literals(block.finish()), type).append_to(handle);
    index.add(last, handle);
    held = 0;
  };
  detail::TableReader(plain, "plain").for_each([&](std::string_view key, std::string_view value) {
    block.add(key, value);
    last = key;
    if (++held == 3) finish_block();
  });
  if (held > 0) finish_block();
  const auto metaindex = append_block(file, as_literals(block.finish()), type);
  const auto index_handle = append_block(file, as_literals(index.finish()), type);
  return file + table_footer(metaindex, index_handle);
}

}  // namespace trainhook::support
