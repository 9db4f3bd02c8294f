// SPDX-License-Identifier: Apache-2.0
/// @file
/// The format of a TensorBundle, TensorFlow's checkpoint, version 2.
///
///     prefix.index                  table file: "" -> BundleHeaderProto, tensor name or slice key -> BundleEntryProto
///     prefix.data-SSSSS-of-NNNNN    the tensors' bytes, back to back
///     prefix.meta                   side file: MetaGraphDef, optional
///
/// A tensor of fixed-size elements is stored as in memory: row-major, little-endian. A string tensor is stored as
/// `length:varint64* masked_crc32c(lengths):u32 characters*`; the checksum covers each length as four bytes (eight
/// beyond 32 bits). An entry's checksum covers the stored bytes; for strings it covers the lengths as above instead of
/// the varints. The entry of a partitioned variable names its slices; each slice has an entry, like a tensor's, under
/// its slice key.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/checkpoint/bundle/tensor_slice.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>

namespace trainhook {

/// A tensor's entry in a bundle's index.
struct BundleEntry {
  /// A tensor that this library cannot hold, although the checkpoint is intact.
  struct Unsupported {
    std::string dtype{};   ///< TensorFlow's name, such as `qint8`
    std::string shape{};   ///< such as `[2,3]`; may have more dimensions than a Shape can
    std::string reason{};  ///< what is missing, with both names, for messages
  };

  DType dtype = DType::Invalid;  ///< Invalid if it is unsupported
  Shape shape{};
  std::uint32_t shard_id = 0;
  std::uint64_t offset = 0;  ///< of the first byte in the shard
  std::uint64_t size = 0;    ///< bytes stored
  std::uint32_t crc32c = 0;  ///< masked
  /// The pieces in which a partitioned variable is stored; its shard, offset and size are then 0.
  std::vector<TensorSlice> slices{};
  std::optional<Unsupported> unsupported{};
};

namespace detail {

static_assert(std::endian::native == std::endian::little, "bundles are copies of memory, which must be little-endian");

// Read or written at once, so that it stays in the cache between checksum and disk.
inline constexpr std::size_t kBundleChunk = 1024 * 1024;

TRAINHOOK_DECL std::string bundle_index_path(std::string_view prefix);
TRAINHOOK_DECL std::string bundle_data_path(std::string_view prefix, std::uint32_t shard, std::uint32_t num_shards);

/// Extends a checksum over the length of one string of a string tensor.
TRAINHOOK_DECL std::uint32_t extend_over_length(std::uint32_t crc, std::uint64_t length) noexcept;

TRAINHOOK_DECL std::string encode_bundle_header(std::uint32_t num_shards);
TRAINHOOK_DECL std::string encode_bundle_entry(const BundleEntry& entry);

/// The number of shards. @throws DataLossError or UnimplementedError, naming the file `index_path`.
TRAINHOOK_DECL std::uint32_t decode_bundle_header(std::string_view text, const std::string& index_path);

/// Decodes an entry and checks it by itself. @throws DataLossError, naming tensor and file.
TRAINHOOK_DECL BundleEntry decode_bundle_entry(std::string_view text, std::string_view tensor, std::uint32_t num_shards,
                                               const std::string& index_path);

/// The key of a slice of a partitioned variable in the index, in an encoding that preserves their order:
///
///     number 0, string name, number rank, then for each dimension: signed start, signed length (-1: all of it)
///
///     number   n:u8, then n bytes, most significant first, with the smallest possible n
///     string   its bytes, NUL as 00 ff and ff as ff 00, then 00 01
///     signed   two's complement in n bytes, most significant first; n leading bits, flipped by the sign, tell n
///
/// Such a key starts with NUL, unlike any name. Source: TensorFlow's `EncodeTensorNameSlice`.
TRAINHOOK_DECL void append_ordered_signed(std::string& key, std::int64_t value);
[[nodiscard]] TRAINHOOK_DECL std::string slice_key(std::string_view name, const TensorSlice& slice);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/bundle/impl/tensor_bundle_format.ipp>
#endif
