// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/io/table_reader.hpp>

#include <cstddef>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/coding.hpp>
#include <trainhook/io/crc32c.hpp>
#include <trainhook/io/snappy.hpp>

namespace trainhook::detail {

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
