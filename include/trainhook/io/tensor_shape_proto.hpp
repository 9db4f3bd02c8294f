// SPDX-License-Identifier: Apache-2.0
/// @file
/// The dimensions of a TensorShapeProto, as checkpoints, events and graphs have it: dim=2 {size=1}; a size of 0 is left out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <trainhook/io/wire.hpp>

namespace trainhook::detail {

inline void add_shape_dims(WireWriter& shape, std::span<const std::int64_t> dims) {
  for (const std::int64_t size : dims) {
    add_wire_message(shape, 2, [size](WireWriter& dim) {
      if (size != 0) dim.add_int64(1, size);
    });
  }
}

/// The size of one dimension, whatever number stands there.
[[nodiscard]] inline std::int64_t read_shape_dim(WireReader dim) {
  std::int64_t size = 0;
  dim.for_each_field(1, [&size](WireReader& field) { size = field.get_int64(); });
  return size;
}

/// Those of all dimensions; what else there is, such as an unknown rank, does not count.
[[nodiscard]] inline std::vector<std::int64_t> read_shape_dims(WireReader shape) {
  std::vector<std::int64_t> dims;
  shape.for_each_field(2, [&dims](WireReader& field) { dims.push_back(read_shape_dim(field.get_message())); });
  return dims;
}

}  // namespace trainhook::detail
