// SPDX-License-Identifier: Apache-2.0
/// @file
/// Writes TensorProto and TensorShapeProto messages.
#pragma once

#include <bit>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/proto/wire.hpp>

namespace trainhook::detail {

static_assert(std::endian::native == std::endian::little,
              "tensors are written as they lie in memory, which the formats want little-endian");

/// TensorShapeProto: dim=2 {size=1}, unknown_rank=3.
TRAINHOOK_DECL void write_shape(WireWriter& writer, const PartialShape& shape);

/// TensorProto: dtype=1, tensor_shape=2, tensor_content=4, the `_val` fields. A tensor of equal elements is stored as
/// one element, as in TensorFlow.
TRAINHOOK_DECL void write_tensor(WireWriter& writer, const Tensor& tensor);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph_def/impl/tensor_proto.ipp>
#endif
