// SPDX-License-Identifier: Apache-2.0
/// @file
/// What writer and reader of a table file (a sorted, immutable map of byte strings; LevelDB's format) agree on.
///
///     file     = data_block* metaindex_block index_block footer
///     *_block  = contents trailer
///     trailer  = type:u8 masked_crc32c(contents type):u32
///     contents = entry* restart_offset:u32* restart_count:u32
///     entry    = shared:varint32 unshared:varint32 value_size:varint32 key_suffix:byte[unshared]
///     value:byte[value_size] footer   = handle(metaindex) handle(index), zeros up to 40 bytes, magic:u64 handle   =
///     offset:varint64 size:varint64                      size is that of the contents
///
/// Numbers are little-endian. A key repeats the first `shared` bytes of the key before it, none at a restart. A data
/// block's entry in the index block has its handle as value, and as key anything from its last key up to, and without,
/// the next block's first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// How a block's contents are packed. Stored in files: never renumber.
enum class BlockType : unsigned char { Plain = 0, Snappy = 1 };

inline constexpr std::uint64_t kTableMagic = 0xdb4775248b80fb57u;
inline constexpr std::size_t kTableFooterSize = 48;
inline constexpr std::size_t kBlockTrailerSize = 5;
inline constexpr std::size_t kTableBlockSize = 256 * 1024;  // TensorFlow's; LevelDB's own is 4 KiB
inline constexpr std::uint32_t kRestartInterval = 16;
inline constexpr std::uint32_t kIndexRestartInterval = 1;

/// The place of a block's contents in the file.
struct BlockHandle {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;

  TRAINHOOK_DECL void append_to(std::string& text) const;
  [[nodiscard]] TRAINHOOK_DECL static std::optional<BlockHandle> take(std::string_view& text) noexcept;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/table_format.ipp>
#endif
