// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of tensor_shape_proto.hpp.
#pragma once

#include <trainhook/proto/tensor_shape_proto.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL void add_shape_dims(WireWriter& shape, std::span<const std::int64_t> dims) {
  for (const std::int64_t size : dims) {
    add_wire_message(shape, 2, [size](WireWriter& dim) {
      if (size != 0) dim.add_int64(1, size);
    });
  }
}

TRAINHOOK_DECL std::int64_t read_shape_dim(WireReader dim) {
  std::int64_t size = 0;
  dim.for_each_field(1, [&size](WireReader& field) { size = field.get_int64(); });
  return size;
}

TRAINHOOK_DECL std::vector<std::int64_t> read_shape_dims(WireReader shape) {
  std::vector<std::int64_t> dims;
  shape.for_each_field(2, [&dims](WireReader& field) { dims.push_back(read_shape_dim(field.get_message())); });
  return dims;
}

}  // namespace trainhook::detail
