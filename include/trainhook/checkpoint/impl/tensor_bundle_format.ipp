// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of tensor_bundle_format.hpp.
#pragma once

#include <trainhook/checkpoint/tensor_bundle_format.hpp>

#include <array>
#include <span>

#include <fmt/core.h>

#include <trainhook/core/error.hpp>
#include <trainhook/io/coding.hpp>
#include <trainhook/io/crc32c.hpp>
#include <trainhook/proto/tensor_shape_proto.hpp>
#include <trainhook/proto/wire.hpp>

namespace trainhook::detail {

inline constexpr std::int64_t kBundleVersion = 1;

TRAINHOOK_DECL std::string bundle_index_path(std::string_view prefix) { return fmt::format("{}.index", prefix); }

TRAINHOOK_DECL std::string bundle_data_path(std::string_view prefix, std::uint32_t shard, std::uint32_t num_shards) {
  return fmt::format("{}.data-{:05}-of-{:05}", prefix, shard, num_shards);
}

TRAINHOOK_DECL std::uint32_t extend_over_length(std::uint32_t crc, std::uint64_t length) noexcept {
  std::array<std::byte, 8> bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(length >> (8 * i) & 255);
  return crc32c::extend(crc, std::span(bytes).first(length > 0xffffffffu ? 8 : 4));
}

TRAINHOOK_DECL std::string encode_bundle_header(std::uint32_t num_shards) {
  std::string text;
  WireWriter writer(text);
  writer.add_int32(1, static_cast<std::int32_t>(num_shards));
  add_wire_message(writer, 3,
                   [](WireWriter& version) { version.add_int32(1, static_cast<std::int32_t>(kBundleVersion)); });
  return text;
}

TRAINHOOK_DECL std::string encode_bundle_entry(const BundleEntry& entry) {
  std::string text;
  WireWriter writer(text);
  writer.add_enum(1, static_cast<std::int32_t>(entry.dtype));
  add_wire_message(writer, 2, [&](WireWriter& shape) { add_shape_dims(shape, entry.shape.dims()); });
  if (entry.shard_id != 0) writer.add_int32(3, static_cast<std::int32_t>(entry.shard_id));
  if (entry.offset != 0) writer.add_int64(4, static_cast<std::int64_t>(entry.offset));
  if (entry.size != 0) writer.add_int64(5, static_cast<std::int64_t>(entry.size));
  if (entry.crc32c != 0) writer.add_fixed32(6, entry.crc32c);
  for (const TensorSlice& slice : entry.slices) {
    add_wire_message(writer, 7, [&](WireWriter& message) {
      for (const TensorSlice::Extent& extent : slice.extents()) {
        add_wire_message(message, 1, [&](WireWriter& range) {
          if (extent.start != 0) range.add_int64(1, extent.start);
          if (!extent.is_full()) range.add_int64(2, extent.length);
        });
      }
    });
  }
  return text;
}

TRAINHOOK_DECL std::uint32_t decode_bundle_header(std::string_view text, const std::string& index_path) {
  std::int64_t num_shards = 0;
  std::int64_t producer = 0;
  std::int64_t min_consumer = 0;
  bool bad_consumer = false;
  WireReader reader(text, index_path);
  while (reader.next()) {
    switch (reader.tag()) {
      case 1: num_shards = reader.get_int32(); break;
      case 2:
        if (reader.get_uint64() != 0) {
          throw UnimplementedError("checkpoint {} was written on a big-endian machine; write it again on this one",
                                   index_path);
        }
        break;
      case 3:
        for (WireReader version = reader.get_message(); version.next();) {
          switch (version.tag()) {
            case 1: producer = version.get_int32(); break;
            case 2: min_consumer = version.get_int32(); break;
            case 3:
              version.for_each<std::int32_t>([&](std::int32_t number) { bad_consumer |= number == kBundleVersion; });
              break;
            default: version.skip();
          }
        }
        break;
      default: reader.skip();
    }
  }
  if (producer < 0 || num_shards < 1)
    throw DataLossError("checkpoint {} is damaged: its header is not a valid one", index_path);
  if (min_consumer > kBundleVersion || bad_consumer) {
    throw UnimplementedError("checkpoint {} asks for a reader of version {} or newer; update this library", index_path,
                             min_consumer);
  }
  return static_cast<std::uint32_t>(num_shards);
}

/// The dimensions of a TensorShapeProto. @throws DataLossError for what no tensor has.
TRAINHOOK_DECL std::vector<std::int64_t> decode_bundle_shape(WireReader reader, std::string_view tensor,
                                                             const std::string& index_path) {
  std::vector<std::int64_t> dims = read_shape_dims(reader);
  for (const std::int64_t size : dims) {
    if (size < 0) throw DataLossError("checkpoint {} is damaged: tensor {} has dimension {}", index_path, tensor, size);
  }
  return dims;
}

/// The region that a TensorSliceProto gives. @throws InvalidArgumentError for one that no tensor has, DataLossError for
/// what is none.
TRAINHOOK_DECL TensorSlice decode_tensor_slice(WireReader reader) {
  std::vector<TensorSlice::Extent> extents;
  reader.for_each_field(1, [&](WireReader& field) {
    TensorSlice::Extent extent;
    for (WireReader range = field.get_message(); range.next();) {
      switch (range.tag()) {
        case 1: extent.start = range.get_int64(); break;
        case 2:
          extent.length = range.get_int64();
          if (extent.length < 0) throw InvalidArgumentError("a slice cannot have length {}", extent.length);
          break;
        default: range.skip();
      }
    }
    extents.push_back(extent);
  });
  return TensorSlice(extents);
}

TRAINHOOK_DECL BundleEntry decode_bundle_entry(std::string_view text, std::string_view tensor, std::uint32_t num_shards,
                                               const std::string& index_path) {
  BundleEntry entry;
  std::uint64_t dtype = 0;
  std::int64_t shard = 0;
  std::int64_t offset = 0;
  std::int64_t size = 0;
  std::vector<WireReader> slices;
  std::vector<std::int64_t> dims;
  WireReader reader(text, index_path);
  while (reader.next()) {
    switch (reader.tag()) {
      case 1: dtype = reader.get_uint64(); break;
      case 2: dims = decode_bundle_shape(reader.get_message(), tensor, index_path); break;
      case 3: shard = reader.get_int32(); break;
      case 4: offset = reader.get_int64(); break;
      case 5: size = reader.get_int64(); break;
      case 6: entry.crc32c = reader.get_fixed32(); break;
      case 7: slices.push_back(reader.get_message()); break;
      default: reader.skip();
    }
  }
  const auto damaged = [&](std::string_view problem) {
    return DataLossError("checkpoint {} is damaged: tensor {} has {}", index_path, tensor, problem);
  };
  if (shard < 0 || shard >= num_shards) throw damaged("a shard number that its header does not allow");
  if (offset < 0 || size < 0) throw damaged("a negative offset or size");
  entry.shard_id = static_cast<std::uint32_t>(shard);
  entry.offset = static_cast<std::uint64_t>(offset);
  entry.size = static_cast<std::uint64_t>(size);
  if (dims.size() > kMaxRank) {
    entry.unsupported = fmt::format("it has {} dimensions, more than {}", dims.size(), kMaxRank);
    return entry;
  }
  try {
    entry.shape = Shape(dims);
  } catch (const InvalidArgumentError& error) { throw damaged(fmt::format("an impossible shape: {}", error.what())); }
  if (dtype > 255 || find_dtype(static_cast<DType>(dtype)) == nullptr) {
    entry.unsupported =
        fmt::format("its elements are of TensorFlow's type number {}, which this library does not hold", dtype);
    return entry;
  }
  entry.dtype = static_cast<DType>(dtype);
  if (!slices.empty()) {
    try {
      for (const WireReader& slice : slices) {
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

}  // namespace trainhook::detail
