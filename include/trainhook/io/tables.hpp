// SPDX-License-Identifier: Apache-2.0
/// @file
/// Table files, LevelDB's: a sorted, immutable map of byte strings. TableWriter builds one in memory, byte for byte as
/// TensorFlow does; TableReader reads one and checks everything in it.
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
#include <vector>

#include <trainhook/core/coding.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>

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

/// Packs sorted entries into the contents of one block.
class BlockBuilder {
 public:
  explicit BlockBuilder(std::uint32_t restart_interval) : restart_interval_(restart_interval) {}

  [[nodiscard]] bool empty() const noexcept { return contents_.empty(); }

  /// The number of bytes that `finish` would return.
  [[nodiscard]] TRAINHOOK_DECL std::size_t size() const noexcept;

  TRAINHOOK_DECL void add(std::string_view key, std::string_view value);

  /// The contents; the builder is empty afterwards.
  [[nodiscard]] TRAINHOOK_DECL std::string finish();

 private:
  std::uint32_t restart_interval_;
  std::string contents_;
  std::vector<std::uint32_t> restarts_ = {0};
  std::uint32_t since_restart_ = 0;
  std::string last_key_;
};

/// The shortest key S with `before <= S < after`, for the index entry between two blocks.
[[nodiscard]] TRAINHOOK_DECL std::string shortest_separator(std::string_view before, std::string_view after);

/// A short key that is not below `key`, for the index entry of the last block.
[[nodiscard]] TRAINHOOK_DECL std::string short_successor(std::string_view key);

/// Takes entries in strictly increasing order of their keys, compared as unsigned bytes, and returns the file's bytes.
class TableWriter {
 public:
  explicit TableWriter(std::size_t block_size = kTableBlockSize) : block_size_(block_size) {}

  /// @throws InvalidArgumentError if `key` is not greater than the previous one.
  TRAINHOOK_DECL void add(std::string_view key, std::string_view value);

  /// Returns the whole file. Call nothing on the writer afterwards.
  [[nodiscard]] TRAINHOOK_DECL std::string finish();

 private:
  static constexpr std::size_t kLargestEntry = 0x7fffffff;  // block sizes, and lengths in blocks, have 32 bits

  TRAINHOOK_DECL void finish_data_block();
  TRAINHOOK_DECL void add_index_entry(const std::string& key);
  TRAINHOOK_DECL BlockHandle append_block(std::string_view contents);

  std::size_t block_size_;
  std::string file_;
  BlockBuilder block_{kRestartInterval};
  BlockBuilder index_{kIndexRestartInterval};
  std::optional<BlockHandle> waiting_;  // a finished data block; its index key depends on the key that follows
  std::optional<std::string> last_key_;
};

/// Unpacks Snappy, the compression of blocks that other programs write:
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
/// Returns nothing if `packed` is not what Snappy makes. Takes memory for at most 22 times its size.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::string> unpack_snappy(std::string_view packed);

/// Iterates over the entries of a block. The checksum was verified before; the lengths in the block are checked here.
class BlockIterator {
 public:
  TRAINHOOK_DECL BlockIterator(std::string_view contents, std::string_view what);

  /// Moves to the next entry; false at the end.
  [[nodiscard]] TRAINHOOK_DECL bool next();

  /// Valid until `next`.
  [[nodiscard]] const std::string& key() const noexcept { return key_; }
  [[nodiscard]] std::string_view value() const noexcept { return value_; }

 private:
  [[nodiscard]] TRAINHOOK_DECL DataLossError damaged(std::string_view problem) const;
  TRAINHOOK_DECL std::uint64_t take_length();

  std::string_view entries_;
  std::string_view what_;
  std::string key_;
  std::string_view value_;
};

/// Reads the entries of a table file in order. The constructor checks footer and index, `for_each` each block that it
/// reaches. Damage is a DataLossError that names the file, a compression other than Snappy an UnimplementedError.
class TableReader {
 public:
  /// `what` names the file in errors.
  TRAINHOOK_DECL TableReader(std::string contents, std::string what);

  TableReader(TableReader&&) = delete;  // holds views of its own contents

  /// Calls `take(key, value)` for each entry, in increasing order of keys. Both are string_views that are valid only
  /// during the call.
  template <class Take>
  void for_each(Take&& take) const {
    std::optional<std::string> last_key;
    std::uint64_t key_bytes = 0;
    std::uint64_t end = 0;  // of the blocks read so far
    std::string unpacked;
    BlockIterator index(index_, what_);
    while (index.next()) {
      std::string_view text = index.value();
      const std::optional<BlockHandle> handle = BlockHandle::take(text);
      if (!handle || !text.empty()) throw damaged("an index entry names no block");
      if ((last_key && index.key() < *last_key) || handle->offset < end) throw damaged("its index is out of order");
      BlockIterator entries(block(*handle, unpacked), what_);
      end = handle->offset + handle->size;
      while (entries.next()) {
        if (last_key && entries.key() <= *last_key) throw damaged("its keys are out of order");
        // Shared prefixes can expand to the square of the file's size; no real file comes near this limit.
        key_bytes += entries.key().size();
        if (key_bytes / kMostUnfolding > contents_.size()) throw damaged("its keys unfold to many times its size");
        take(std::string_view(entries.key()), entries.value());
        last_key = entries.key();
      }
      if (last_key && *last_key > index.key()) throw damaged("a block holds keys above those that the index gives it");
    }
  }

 private:
  static constexpr std::uint64_t kMostUnfolding = 64;

  [[nodiscard]] TRAINHOOK_DECL DataLossError damaged(std::string_view problem) const;

  /// The contents of a block, whose checksum it verifies; in `unpacked` if they were compressed.
  [[nodiscard]] TRAINHOOK_DECL std::string_view block(BlockHandle handle, std::string& unpacked) const;

  std::string contents_;
  std::string what_;
  std::string unpacked_index_;
  std::string_view index_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/tables.ipp>
#endif
