// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads a table file and trusts nothing in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/io/crc32c.hpp>
#include <trainhook/io/table_format.hpp>

namespace trainhook {
namespace detail {

/// Walks the entries of one block whose checksum is known to be right. That does not make its lengths right.
class BlockIterator {
 public:
  BlockIterator(std::string_view contents, std::string_view what) : what_(what) {
    if (contents.size() < 4) throw damaged("a block is too short for its restart count");
    const std::uint64_t restarts = fixed32_at(contents, contents.size() - 4);
    if (restarts > (contents.size() - 4) / 4) throw damaged("a block has more restart points than bytes");
    entries_ = contents.substr(0, contents.size() - 4 * (static_cast<std::size_t>(restarts) + 1));
  }

  /// Moves to the next entry; false at the end.
  [[nodiscard]] bool next() {
    if (entries_.empty()) return false;
    const std::uint64_t shared = take_length();
    const std::uint64_t unshared = take_length();
    const std::uint64_t value_size = take_length();
    if (shared > key_.size()) throw damaged("an entry shares more bytes than the key before it has");
    if (unshared > entries_.size() || value_size > entries_.size() - unshared) throw damaged("an entry reaches past its block");
    key_.resize(static_cast<std::size_t>(shared));
    key_.append(entries_.substr(0, static_cast<std::size_t>(unshared)));
    value_ = entries_.substr(static_cast<std::size_t>(unshared), static_cast<std::size_t>(value_size));
    entries_.remove_prefix(static_cast<std::size_t>(unshared + value_size));
    return true;
  }

  /// Valid until `next`.
  [[nodiscard]] const std::string& key() const noexcept { return key_; }
  [[nodiscard]] std::string_view value() const noexcept { return value_; }

 private:
  [[nodiscard]] DataLossError damaged(std::string_view problem) const {
    return DataLossError("table file ", what_, " is damaged: ", problem);
  }

  std::uint64_t take_length() {
    const std::optional<std::uint64_t> length = take_varint(entries_);
    if (!length || *length > (std::numeric_limits<std::uint32_t>::max)()) throw damaged("an entry has a bad length");
    return *length;
  }

  std::string_view entries_;
  std::string_view what_;
  std::string key_;
  std::string_view value_;
};

}  // namespace detail

/// Gives the entries of a table file in order. The constructor checks footer and index, `for_each` every block that it comes to.
/// All failures are DataLossErrors that name the file, except a block that is compressed: UnimplementedError.
class TableReader {
 public:
  /// `what` is the file's name in errors.
  TableReader(std::string contents, std::string what) : contents_(std::move(contents)), what_(std::move(what)) {
    if (contents_.size() < detail::kTableFooterSize) {
      throw DataLossError("file ", what_, " is too short to be a table: ", contents_.size(), " bytes; it was cut off or never finished");
    }
    if (detail::fixed64_at(contents_, contents_.size() - 8) != detail::kTableMagic) {
      throw DataLossError("file ", what_, " is not a table (bad magic number); it was cut off or is something else");
    }
    const auto footer = std::string_view(contents_).substr(contents_.size() - detail::kTableFooterSize, detail::kTableFooterSize - 8);
    std::string_view handles = footer;
    const std::optional<detail::BlockHandle> metaindex = detail::BlockHandle::take(handles);
    const std::optional<detail::BlockHandle> index = metaindex ? detail::BlockHandle::take(handles) : std::nullopt;
    if (!index) throw damaged("its footer names no blocks");
    std::string honest;  // no checksum covers the footer: only the one way to write it is accepted
    metaindex->append_to(honest);
    index->append_to(honest);
    honest.resize(footer.size(), '\0');
    if (honest != footer) throw damaged("its footer is not what any writer makes");
    static_cast<void>(block(*metaindex));
    index_ = block(*index);
  }

  TableReader(TableReader&&) = delete;  // holds views of itself

  /// Calls `take(key, value)`, both string_views valid during the call only, for each entry, in increasing order of the keys.
  template <class Take>
  void for_each(Take&& take) const {
    std::string last_key;
    bool first = true;
    std::uint64_t key_bytes = 0;
    detail::BlockIterator index(index_, what_);
    while (index.next()) {
      std::string_view text = index.value();
      const std::optional<detail::BlockHandle> handle = detail::BlockHandle::take(text);
      if (!handle || !text.empty()) throw damaged("an index entry names no block");
      if (!first && index.key() < last_key) throw damaged("its index is out of order");
      detail::BlockIterator entries(block(*handle), what_);
      while (entries.next()) {
        if (!first && entries.key() <= last_key) throw damaged("its keys are out of order");
        // Shared prefixes may unfold to the square of the file's size; no honest writer comes near this.
        key_bytes += entries.key().size();
        if (key_bytes / kMostUnfolding > contents_.size()) throw damaged("its keys unfold to many times its size");
        take(std::string_view(entries.key()), entries.value());
        last_key = entries.key();
        first = false;
      }
      if (!first && last_key > index.key()) throw damaged("a block holds keys above those that the index gives it");
    }
  }

 private:
  static constexpr std::uint64_t kMostUnfolding = 64;

  [[nodiscard]] DataLossError damaged(std::string_view problem) const {
    return DataLossError("table file ", what_, " is damaged: ", problem);
  }

  /// The contents of a block, checksum verified.
  [[nodiscard]] std::string_view block(detail::BlockHandle handle) const {
    const std::uint64_t limit = contents_.size() - detail::kTableFooterSize;
    if (handle.offset > limit || handle.size > limit - handle.offset || limit - handle.offset - handle.size < detail::kBlockTrailerSize) {
      throw damaged(str_cat("a block of ", handle.size, " bytes at ", handle.offset, " reaches past its end"));
    }
    const auto offset = static_cast<std::size_t>(handle.offset);
    const auto size = static_cast<std::size_t>(handle.size);
    const std::string_view covered = std::string_view(contents_).substr(offset, size + 1);
    if (crc32c::mask(crc32c::value(covered)) != detail::fixed32_at(contents_, offset + size + 1)) {
      throw damaged(str_cat("the checksum of the block at byte ", offset, " does not match"));
    }
    if (static_cast<detail::BlockType>(covered.back()) != detail::BlockType::Plain) {
      const int type = static_cast<unsigned char>(covered.back());
      throw UnimplementedError("table file ", what_, " has a block of compression type ", type, "; only uncompressed ones can be read");
    }
    return covered.substr(0, size);
  }

  std::string contents_;
  std::string what_;
  std::string_view index_;
};

}  // namespace trainhook
