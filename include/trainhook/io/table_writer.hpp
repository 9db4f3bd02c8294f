// SPDX-License-Identifier: Apache-2.0
/// @file
/// TableWriter: builds a table file in memory, byte for byte as TensorFlow does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/io/table_format.hpp>

namespace trainhook::detail {

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

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/table_writer.ipp>
#endif
