// SPDX-License-Identifier: Apache-2.0
/// @file
/// The dimensions of a TensorShapeProto, as checkpoints, events and graphs have it: dim=2 {size=1}; a size of 0 is left
/// out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/proto/wire.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL void add_shape_dims(WireWriter& shape, std::span<const std::int64_t> dims);

/// The size of one dimension, whatever number stands there.
[[nodiscard]] TRAINHOOK_DECL std::int64_t read_shape_dim(WireReader dim);

/// Those of all dimensions; what else there is, such as an unknown rank, does not count.
[[nodiscard]] TRAINHOOK_DECL std::vector<std::int64_t> read_shape_dims(WireReader shape);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/proto/impl/tensor_shape_proto.ipp>
#endif
