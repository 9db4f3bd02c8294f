// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tensors and shapes as TensorProto and TensorShapeProto messages.
#pragma once

#include <bit>
#include <string_view>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/proto/shared_messages.hpp>

namespace trainhook::detail {

static_assert(std::endian::native == std::endian::little,
              "tensors are written as they lie in memory, which the formats want little-endian");

[[nodiscard]] TRAINHOOK_DECL TensorShapeMessage shape_message(const PartialShape& shape);

/// The message points into the tensor. A tensor of equal elements is stored as one element, as in TensorFlow.
/// @throws UnimplementedError for a dtype that a TensorProto cannot hold.
[[nodiscard]] TRAINHOOK_DECL TensorMessage tensor_message(const Tensor& tensor);

/// The message of a tensor of zeros or of empty strings, which need not be in memory for that.
[[nodiscard]] TRAINHOOK_DECL TensorMessage zeros_message(DType dtype, const Shape& shape);

/// The elements that the message points to as a whole; empty for strings and if one element stands for all.
[[nodiscard]] TRAINHOOK_DECL std::string_view tensor_content(const Tensor& tensor);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/graph_def/impl/tensor_proto.ipp>
#endif
