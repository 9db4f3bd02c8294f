// SPDX-License-Identifier: Apache-2.0
/// @file
/// The format of table files, LevelDB's: a sorted, immutable map of byte strings.
///
///     file     = data_block* metaindex_block index_block footer
///     *_block  = stored trailer                       contents, as they are or compressed
///     trailer  = type:u8 masked_crc32c(stored type):u32
///     contents = entry* restart_offset:u32* restart_count:u32
///     entry    = shared:varint32 unshared:varint32 value_size:varint32 key_suffix value
///     footer   = handle(metaindex) handle(index), zeros up to 40 bytes, magic:u64
///     handle   = offset:varint64 size:varint64
///
/// Numbers are little-endian. `unshared` and `value_size` count the bytes of `key_suffix` and `value`; a handle's
/// `size` is that of `stored`. A key starts with the first `shared` bytes of the previous key; `shared` is 0 at a
/// restart. The index block has one entry for each data block: its value is the block's handle, its key is at least the
/// block's last key and less than the next block's first key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <trainhook/core/coding.hpp>

namespace trainhook::detail {

/// The compression of a block. Stored in files: never renumber.
enum class BlockType : unsigned char { Plain = 0, Snappy = 1, Zstd = 2 };

inline constexpr std::uint64_t kTableMagic = 0xdb4775248b80fb57u;
inline constexpr std::size_t kTableFooterSize = 48;
inline constexpr std::size_t kBlockTrailerSize = 5;
inline constexpr std::size_t kTableBlockSize = 256 * 1024;  // TensorFlow's; LevelDB's own is 4 KiB
inline constexpr std::uint32_t kRestartInterval = 16;
inline constexpr std::uint32_t kIndexRestartInterval = 1;

/// The place of a block in the file, without its trailer.
struct BlockHandle {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;

  void append_to(std::string& text) const {
    append_varint(text, offset);
    append_varint(text, size);
  }
  [[nodiscard]] static std::optional<BlockHandle> take(std::string_view& text) noexcept {
    const std::optional<std::uint64_t> offset = take_varint(text);
    const std::optional<std::uint64_t> size = offset ? take_varint(text) : std::nullopt;
    return size ? std::optional(BlockHandle{*offset, *size}) : std::nullopt;
  }
};

}  // namespace trainhook::detail
