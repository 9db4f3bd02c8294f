// SPDX-License-Identifier: Apache-2.0
/// @file
/// The protobuf messages in checkpoints: header and entries of a bundle's index.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include <trainhook/proto/message.hpp>
#include <trainhook/proto/shared_messages.hpp>

namespace trainhook::detail {

/// BundleHeaderProto.
struct BundleHeaderMessage {
  std::int32_t num_shards = 0;
  std::uint64_t endianness = 0;  // 0: little
  VersionMessage version{};
};
template <>
inline constexpr auto kFields<BundleHeaderMessage> = std::tuple(
    field(1, "num_shards", &BundleHeaderMessage::num_shards), field(2, "endianness", &BundleHeaderMessage::endianness),
    field(3, "version", &BundleHeaderMessage::version));

struct SliceExtentMessage {
  std::int64_t start = 0;
  std::optional<std::int64_t> length{};  // none: the whole dimension
};
template <>
inline constexpr auto kFields<SliceExtentMessage> =
    std::tuple(field(1, "start", &SliceExtentMessage::start), field(2, "length", &SliceExtentMessage::length));

/// TensorSliceProto.
struct TensorSliceMessage {
  std::vector<SliceExtentMessage> extent{};
};
template <>
inline constexpr auto kFields<TensorSliceMessage> = std::tuple(field(1, "extent", &TensorSliceMessage::extent));

/// BundleEntryProto.
struct BundleEntryMessage {
  std::uint64_t dtype = 0;  // a DType's number, or one that this library lacks
  TensorShapeMessage shape{};
  std::int32_t shard_id = 0;
  std::int64_t offset = 0;
  std::int64_t size = 0;
  Fixed32 crc32c{};
  std::vector<TensorSliceMessage> slices{};
};
template <>
inline constexpr auto kFields<BundleEntryMessage> =
    std::tuple(field(1, "dtype", &BundleEntryMessage::dtype), field(2, "shape", &BundleEntryMessage::shape),
               field(3, "shard_id", &BundleEntryMessage::shard_id), field(4, "offset", &BundleEntryMessage::offset),
               field(5, "size", &BundleEntryMessage::size), field(6, "crc32c", &BundleEntryMessage::crc32c),
               field(7, "slices", &BundleEntryMessage::slices));

}  // namespace trainhook::detail
