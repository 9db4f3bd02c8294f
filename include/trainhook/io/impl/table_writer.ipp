// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/io/table_writer.hpp>

#include <algorithm>
#include <cassert>
#include <utility>

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

}  // namespace trainhook::detail
