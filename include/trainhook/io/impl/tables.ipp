// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/io/tables.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/coding.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/io/crc32c.hpp>

namespace trainhook::detail {

std::size_t BlockBuilder::size() const noexcept { return contents_.size() + 4 * restarts_.size() + 4; }

void BlockBuilder::add(std::string_view key, std::string_view value) {
  std::size_t shared = 0;
  if (since_restart_ == restart_interval_) {
    restarts_.push_back(static_cast<std::uint32_t>(contents_.size()));
    since_restart_ = 0;
  } else {
    const auto [end, other] = std::ranges::mismatch(key, last_key_);
    shared = static_cast<std::size_t>(end - key.begin());
  }
  append_varint(contents_, shared);
  append_varint(contents_, key.size() - shared);
  append_varint(contents_, value.size());
  contents_.append(key.substr(shared)).append(value);
  last_key_ = key;
  ++since_restart_;
}

std::string BlockBuilder::finish() {
  for (std::uint32_t restart : restarts_) append_fixed(contents_, restart);
  append_fixed(contents_, static_cast<std::uint32_t>(restarts_.size()));
  restarts_ = {0};
  since_restart_ = 0;
  last_key_.clear();
  return std::exchange(contents_, {});
}

std::string shortest_separator(std::string_view before, std::string_view after) {
  const std::size_t common = static_cast<std::size_t>(std::ranges::mismatch(before, after).in1 - before.begin());
  if (common < before.size() && common < after.size()) {
    const auto byte = static_cast<unsigned char>(before[common]);
    if (byte < 0xff && byte + 1 < static_cast<unsigned char>(after[common])) {
      return std::string(before.substr(0, common)) + static_cast<char>(byte + 1);
    }
  }
  return std::string(before);
}

std::string short_successor(std::string_view key) {
  for (std::size_t i = 0; i < key.size(); ++i) {
    const auto byte = static_cast<unsigned char>(key[i]);
    if (byte != 0xff) return std::string(key.substr(0, i)) + static_cast<char>(byte + 1);
  }
  return std::string(key);
}

void TableWriter::add(std::string_view key, std::string_view value) {
  if (last_key_ && key <= *last_key_)
    throw InvalidArgumentError("table key \"{}\" does not come after \"{}\"", key, *last_key_);
  if (key.size() + value.size() > kLargestEntry)
    throw InvalidArgumentError("table entry \"{}\" has more than 2^31 bytes", key);
  if (last_key_ && key.size() + value.size() >= 2 * block_size_) finish_data_block();
  if (waiting_) add_index_entry(shortest_separator(*last_key_, key));
  block_.add(key, value);
  last_key_ = key;
  if (block_.size() >= block_size_) finish_data_block();
}

std::string TableWriter::finish() {
  finish_data_block();
  const BlockHandle metaindex = append_block(BlockBuilder(kRestartInterval).finish());
  if (waiting_) add_index_entry(short_successor(*last_key_));
  const BlockHandle index = append_block(index_.finish());
  const std::size_t footer = file_.size();
  metaindex.append_to(file_);
  index.append_to(file_);
  assert(file_.size() - footer <= kTableFooterSize - 8);
  file_.resize(footer + kTableFooterSize - 8, '\0');
  append_fixed(file_, kTableMagic);
  return std::move(file_);
}

void TableWriter::finish_data_block() {
  if (!block_.empty()) waiting_ = append_block(block_.finish());
}

void TableWriter::add_index_entry(const std::string& key) {
  std::string handle;
  waiting_->append_to(handle);
  index_.add(key, handle);
  waiting_.reset();
}

BlockHandle TableWriter::append_block(std::string_view contents) {
  const BlockHandle handle{file_.size(), contents.size()};
  file_.append(contents) += static_cast<char>(BlockType::Plain);
  const std::string_view covered = std::string_view(file_).substr(static_cast<std::size_t>(handle.offset));
  append_fixed(file_, crc32c::mask(crc32c::value(covered)));
  return handle;
}

/// Unpacks element by element; each call is false if the element does not fit.
class SnappyUnpacker {
 public:
  SnappyUnpacker(std::string_view packed, std::size_t size) : packed_(packed), size_(size) { text_.reserve(size); }

  [[nodiscard]] bool is_at_end() const noexcept { return packed_.empty(); }
  [[nodiscard]] std::string& text() noexcept { return text_; }

  /// Not at the end.
  [[nodiscard]] bool take_element() {
    const auto tag = static_cast<unsigned char>(packed_.front());
    packed_.remove_prefix(1);
    const std::uint64_t bits = tag >> 2U;
    switch (tag & 3U) {
      case 0: return take_literal(bits);
      case 1: return take_copy(4 + (bits & 7), 1, bits >> 3);
      case 2: return take_copy(1 + bits, 2, 0);
      default: return take_copy(1 + bits, 4, 0);
    }
  }

 private:
  static constexpr std::uint64_t kLongestInTag = 60;

  [[nodiscard]] std::optional<std::uint64_t> take_number(std::size_t bytes) {
    if (bytes > packed_.size()) return std::nullopt;
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < bytes; ++i) number |= std::uint64_t{static_cast<unsigned char>(packed_[i])} << (8 * i);
    packed_.remove_prefix(bytes);
    return number;
  }

  [[nodiscard]] bool take_literal(std::uint64_t less_1) {
    if (less_1 >= kLongestInTag) {
      const auto longer = take_number(static_cast<std::size_t>(less_1 - kLongestInTag + 1));
      if (!longer) return false;
      less_1 = *longer;
    }
    if (less_1 >= packed_.size() || less_1 >= size_ - text_.size()) return false;
    const auto length = static_cast<std::size_t>(less_1) + 1;
    text_.append(packed_.substr(0, length));
    packed_.remove_prefix(length);
    return true;
  }

  [[nodiscard]] bool take_copy(std::uint64_t length, std::size_t offset_bytes, std::uint64_t upper_byte) {
    const auto lower = take_number(offset_bytes);
    if (!lower) return false;
    const std::uint64_t offset = *lower | upper_byte << 8;
    if (offset == 0 || offset > text_.size() || length > size_ - text_.size()) return false;
    const std::size_t from = text_.size() - static_cast<std::size_t>(offset);
    for (std::size_t i = 0; i < length; ++i) text_ += text_[from + i];
    return true;
  }

  std::string_view packed_;
  std::size_t size_;
  std::string text_;
};

std::optional<std::string> unpack_snappy(std::string_view packed) {
  constexpr std::uint64_t kMostUnpacking = 22;  // no element makes more than 64 bytes of three
  const std::optional<std::uint64_t> size = take_varint(packed);
  if (!size || *size / kMostUnpacking > packed.size()) return std::nullopt;
  SnappyUnpacker unpacker(packed, static_cast<std::size_t>(*size));
  while (!unpacker.is_at_end())
    if (!unpacker.take_element()) return std::nullopt;
  if (unpacker.text().size() != *size) return std::nullopt;
  return std::move(unpacker.text());
}

BlockIterator::BlockIterator(std::string_view contents, std::string_view what) : what_(what) {
  if (contents.size() < 4) throw damaged("a block is too short for its restart count");
  const std::uint64_t restarts = fixed32_at(contents, contents.size() - 4);
  if (restarts > (contents.size() - 4) / 4) throw damaged("a block has more restart points than bytes");
  entries_ = contents.substr(0, contents.size() - 4 * (static_cast<std::size_t>(restarts) + 1));
}

bool BlockIterator::next() {
  if (entries_.empty()) return false;
  const std::uint64_t shared = take_length();
  const std::uint64_t unshared = take_length();
  const std::uint64_t value_size = take_length();
  if (shared > key_.size()) throw damaged("an entry shares more bytes than the key before it has");
  if (unshared > entries_.size() || value_size > entries_.size() - unshared)
    throw damaged("an entry reaches past its block");
  key_.resize(static_cast<std::size_t>(shared));
  key_.append(entries_.substr(0, static_cast<std::size_t>(unshared)));
  value_ = entries_.substr(static_cast<std::size_t>(unshared), static_cast<std::size_t>(value_size));
  entries_.remove_prefix(static_cast<std::size_t>(unshared + value_size));
  return true;
}

DataLossError BlockIterator::damaged(std::string_view problem) const {
  return DataLossError("table file {} is damaged: {}", what_, problem);
}

std::uint64_t BlockIterator::take_length() {
  const std::optional<std::uint64_t> length = take_varint(entries_);
  if (!length || *length > (std::numeric_limits<std::uint32_t>::max)()) throw damaged("an entry has a bad length");
  return *length;
}

TableReader::TableReader(std::string contents, std::string what)
    : contents_(std::move(contents)), what_(std::move(what)) {
  if (contents_.size() < kTableFooterSize) {
    throw DataLossError("file {} is too short to be a table: {} bytes; it was cut off or never finished", what_,
                        contents_.size());
  }
  if (fixed64_at(contents_, contents_.size() - 8) != kTableMagic) {
    throw DataLossError("file {} is not a table (bad magic number); it was cut off or is something else", what_);
  }
  const auto footer = std::string_view(contents_).substr(contents_.size() - kTableFooterSize, kTableFooterSize - 8);
  std::string_view handles = footer;
  const std::optional<BlockHandle> metaindex = BlockHandle::take(handles);
  const std::optional<BlockHandle> index = metaindex ? BlockHandle::take(handles) : std::nullopt;
  if (!index) throw damaged("its footer names no blocks");
  std::string honest;  // no checksum covers the footer: only the one way to write it is accepted
  metaindex->append_to(honest);
  index->append_to(honest);
  honest.resize(footer.size(), '\0');
  if (honest != footer) throw damaged("its footer is not what any writer makes");
  static_cast<void>(block(*metaindex, unpacked_index_));
  index_ = block(*index, unpacked_index_);
}

DataLossError TableReader::damaged(std::string_view problem) const {
  return DataLossError("table file {} is damaged: {}", what_, problem);
}

std::string_view TableReader::block(BlockHandle handle, std::string& unpacked) const {
  const std::uint64_t limit = contents_.size() - kTableFooterSize;
  if (handle.offset > limit || handle.size > limit - handle.offset ||
      limit - handle.offset - handle.size < kBlockTrailerSize) {
    throw damaged(fmt::format("a block of {} bytes at {} reaches past its end", handle.size, handle.offset));
  }
  const auto offset = static_cast<std::size_t>(handle.offset);
  const auto size = static_cast<std::size_t>(handle.size);
  const std::string_view covered = std::string_view(contents_).substr(offset, size + 1);
  if (!crc32c::agree(fixed32_at(contents_, offset + size + 1), crc32c::mask(crc32c::value(covered)))) {
    throw damaged(fmt::format("the checksum of the block at byte {} does not match", offset));
  }
  const std::string_view stored = covered.substr(0, size);
  const auto type = static_cast<BlockType>(covered.back());
  if (type == BlockType::Plain) return stored;
  if (type != BlockType::Snappy) {
    throw UnimplementedError(
        "table file {} is of a format that is not read here: a block is compressed in way {}{}; write it again in the "
        "program that wrote it, without compression or with Snappy",
        what_, static_cast<int>(type), type == BlockType::Zstd ? " (zstd)" : "");
  }
  std::optional<std::string> text = unpack_snappy(stored);
  if (!text) throw damaged(fmt::format("the block at byte {} is not what Snappy makes", offset));
  unpacked = *std::move(text);
  return unpacked;
}

}  // namespace trainhook::detail
