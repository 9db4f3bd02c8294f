// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/proto/tensor_shape_proto.hpp>

namespace trainhook::detail {

TensorShapeMessage shape_message(std::span<const std::int64_t> dims) {
  TensorShapeMessage shape;
  for (const std::int64_t size : dims) shape.dim.push_back({size});
  return shape;
}

std::vector<std::int64_t> dims_of(const TensorShapeMessage& shape) {
  std::vector<std::int64_t> dims;
  for (const TensorDimMessage& dim : shape.dim) dims.push_back(dim.size);
  return dims;
}

}  // namespace trainhook::detail
