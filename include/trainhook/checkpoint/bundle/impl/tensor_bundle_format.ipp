// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/bundle/tensor_bundle_format.hpp>

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/checkpoint_messages.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/io/crc32c.hpp>
#include <trainhook/proto/shared_messages.hpp>

namespace trainhook::detail {

inline constexpr std::int32_t kBundleVersion = 1;

std::string bundle_index_path(std::string_view prefix) { return fmt::format("{}.index", prefix); }

std::string bundle_data_path(std::string_view prefix, std::uint32_t shard, std::uint32_t num_shards) {
  return fmt::format("{}.data-{:05}-of-{:05}", prefix, shard, num_shards);
}

std::uint32_t extend_over_length(std::uint32_t crc, std::uint64_t length) noexcept {
  std::array<std::byte, 8> bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(length >> (8 * i) & 255);
  return crc32c::extend(crc, std::span(bytes).first(length > 0xffffffffu ? 8 : 4));
}

std::string encode_bundle_header(std::uint32_t num_shards) {
  return message_bytes(BundleHeaderMessage{.num_shards = static_cast<std::int32_t>(num_shards),
                                           .version = {.producer = kBundleVersion}});
}

std::string encode_bundle_entry(const BundleEntry& entry) {
  BundleEntryMessage message{.dtype = static_cast<std::uint64_t>(entry.dtype),
                             .shape = shape_message(entry.shape.dims()),
                             .shard_id = static_cast<std::int32_t>(entry.shard_id),
                             .offset = static_cast<std::int64_t>(entry.offset),
                             .size = static_cast<std::int64_t>(entry.size),
                             .crc32c = {entry.crc32c}};
  for (const TensorSlice& slice : entry.slices) {
    TensorSliceMessage& region = message.slices.emplace_back();
    for (const TensorSlice::Extent& extent : slice.extents()) {
      SliceExtentMessage& range = region.extent.emplace_back();
      range.start = extent.start;
      if (!extent.is_full()) range.length = extent.length;
    }
  }
  return message_bytes(message);
}

std::uint32_t decode_bundle_header(std::string_view text, const std::string& index_path) {
  const auto header = parse_message<BundleHeaderMessage>(text, index_path);
  if (header.endianness != 0) {
    throw UnimplementedError("checkpoint {} was written on a big-endian machine; write it again on this one",
                             index_path);
  }
  const VersionMessage& version = header.version;
  if (version.producer < 0 || header.num_shards < 1)
    throw DataLossError("checkpoint {} is damaged: its header is invalid", index_path);
  if (version.min_consumer > kBundleVersion || std::ranges::count(version.bad_consumers, kBundleVersion) > 0) {
    throw UnimplementedError("checkpoint {} asks for a reader of version {} or newer; update this library", index_path,
                             version.min_consumer);
  }
  return static_cast<std::uint32_t>(header.num_shards);
}

/// @throws InvalidArgumentError for a region that no tensor has.
inline TensorSlice decode_tensor_slice(const TensorSliceMessage& message) {
  std::vector<TensorSlice::Extent> extents;
  for (const SliceExtentMessage& extent : message.extent) {
    if (extent.length && *extent.length < 0)
      throw InvalidArgumentError("a slice cannot have length {}", *extent.length);
    extents.push_back({extent.start, extent.length.value_or(TensorSlice::kFull)});
  }
  return TensorSlice(extents);
}

BundleEntry decode_bundle_entry(std::string_view text, std::string_view tensor, std::uint32_t num_shards,
                                const std::string& index_path) {
  const auto message = parse_message<BundleEntryMessage>(text, index_path);
  const auto damaged = [&](std::string_view problem) {
    return DataLossError("checkpoint {} is damaged: tensor {} has {}", index_path, tensor, problem);
  };
  const std::vector<std::int64_t> dims = dims_of(message.shape);
  for (const std::int64_t size : dims) {
    if (size < 0) throw damaged(fmt::format("dimension {}", size));
  }
  if (message.shard_id < 0 || static_cast<std::uint32_t>(message.shard_id) >= num_shards)
    throw damaged("a shard number that its header does not allow");
  if (message.offset < 0 || message.size < 0) throw damaged("a negative offset or size");
  BundleEntry entry;
  entry.shard_id = static_cast<std::uint32_t>(message.shard_id);
  entry.offset = static_cast<std::uint64_t>(message.offset);
  entry.size = static_cast<std::uint64_t>(message.size);
  entry.crc32c = message.crc32c.value;
  const auto unsupported = [&](std::string_view what) {
    BundleEntry::Unsupported found{.dtype = short_dtype_name(message.dtype), .shape = "["};
    for (const std::int64_t size : dims) found.shape += fmt::format("{}{}", found.shape == "[" ? "" : ",", size);
    found.shape += ']';
    found.reason = fmt::format("it is {}{}, and this library has no tensor of {}", found.dtype, found.shape, what);
    return found;
  };
  if (dims.size() > kMaxRank) {
    entry.unsupported = unsupported(fmt::format("more than {} dimensions", kMaxRank));
    return entry;
  }
  try {
    entry.shape = Shape(dims);
  } catch (const InvalidArgumentError& error) { throw damaged(fmt::format("an impossible shape: {}", error.what())); }
  if (message.dtype > 255 || find_dtype(static_cast<DType>(message.dtype)) == nullptr) {
    entry.unsupported = unsupported("this dtype");
    return entry;
  }
  entry.dtype = static_cast<DType>(message.dtype);
  if (!message.slices.empty()) {
    try {
      for (const TensorSliceMessage& slice : message.slices) {
        entry.slices.push_back(decode_tensor_slice(slice));
        if (entry.slices.back().shape_in(entry.shape).num_elements() == 0) throw damaged("a slice without elements");
      }
    } catch (const InvalidArgumentError& error) { throw damaged(fmt::format("an impossible slice: {}", error.what())); }
    return entry;
  }
  const auto elements = static_cast<std::uint64_t>(entry.shape.num_elements());
  std::uint64_t expected = 0;
  if (entry.dtype == DType::String) {
    if (entry.size < elements) throw damaged("fewer bytes than strings");
  } else if (__builtin_mul_overflow(elements, dtype_size(entry.dtype), &expected) || expected != entry.size) {
    throw damaged(fmt::format("{} bytes, which do not fit {}{}", entry.size, entry.dtype, entry.shape));
  }
  return entry;
}

inline void append_ordered_number(std::string& key, std::uint64_t value) {
  std::size_t size = 0;
  while (size < 8 && value >> (8 * size) != 0) ++size;
  key += static_cast<char>(size);
  for (std::size_t i = size; i > 0; --i) key += static_cast<char>(value >> (8 * (i - 1)) & 255);
}

inline void append_ordered_string(std::string& key, std::string_view text) {
  for (const char c : text) {
    key += c;
    if (c == '\0') key += '\xff';
    if (c == '\xff') key += '\0';
  }
  key += '\0';
  key += '\1';
}

void append_ordered_signed(std::string& key, std::int64_t value) {
  constexpr std::size_t kMost = 10;
  const auto fits = [&](std::size_t size) {  // 7 bits of each byte are the value's
    return size == kMost ||
           (value >= -(std::int64_t{1} << (7 * size - 1)) && value < std::int64_t{1} << (7 * size - 1));
  };
  std::size_t size = 1;
  while (!fits(size)) ++size;
  std::array<unsigned char, kMost> bytes{};
  for (std::size_t i = 0; i < size; ++i) {  // from the last
    const std::int64_t shifted = i < 8 ? value >> (8 * i) : value >> 63;
    bytes[size - 1 - i] = static_cast<unsigned char>(shifted & 255);
  }
  for (std::size_t bit = 0; bit < size; ++bit) bytes[bit / 8] ^= static_cast<unsigned char>(128U >> bit % 8);
  for (std::size_t i = 0; i < size; ++i) key += static_cast<char>(bytes[i]);
}

std::string slice_key(std::string_view name, const TensorSlice& slice) {
  std::string key;
  append_ordered_number(key, 0);
  append_ordered_string(key, name);
  append_ordered_number(key, slice.rank());
  for (const TensorSlice::Extent& extent : slice.extents()) {
    append_ordered_signed(key, extent.start);
    append_ordered_signed(key, extent.length);
  }
  return key;
}

}  // namespace trainhook::detail
