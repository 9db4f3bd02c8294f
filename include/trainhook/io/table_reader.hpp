// SPDX-License-Identifier: Apache-2.0
/// @file
/// TableReader: reads a table file and checks everything in it; and unpack_snappy, for blocks that other programs
/// compressed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/io/table_format.hpp>

namespace trainhook::detail {

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
#include <trainhook/io/impl/table_reader.ipp>
#endif
