// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shape rules that several families of ops share. A rule of a single family is in that family's file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook::detail {

using Dims = std::vector<std::int64_t>;

/// Returns the shape whose dimensions are the values of `dims`. They are known only if `dims` is a constant or the
/// shape of a tensor.
TRAINHOOK_DECL PartialShape shape_in(const Output& dims);

/// Returns a shape of unknown dimensions whose rank is the extent of the vector shape `dims`.
TRAINHOOK_DECL PartialShape unknown_of_extent(const PartialShape& dims);

/// Returns which dimension of a tensor of this rank holds the channels, by the attribute `data_format`.
TRAINHOOK_DECL std::size_t channel_axis(const NodeSpec& node, std::size_t rank);

/// @throws InvalidArgumentError if dimension `axis` of `x` cannot be 1.
TRAINHOOK_DECL void require_one(const NodeSpec& node, const Output& x, std::size_t axis);

/// The dimensions of input 0 with `dim` inserted at `axis`.
TRAINHOOK_DECL PartialShape with_dim(const NodeSpec& node, std::int64_t axis, std::int64_t dim);

namespace shape_rules {

/// No dimensions.
inline PartialShape scalar(const NodeSpec&, std::size_t) { return Shape{}; }

/// The shape of input `Index`.
template <std::size_t Index>
PartialShape like(const NodeSpec& node, std::size_t) {
  return node.inputs[Index].shape();
}

/// The shape whose dimensions are the values of input `Index`, a vector.
template <std::size_t Index>
PartialShape dims_in(const NodeSpec& node, std::size_t) {
  require_rank(label(node), node.inputs[Index], 1);
  return shape_in(node.inputs[Index]);
}

/// The attribute `shape`.
TRAINHOOK_DECL PartialShape attr_shape(const NodeSpec& node, std::size_t);

/// Inputs 0 and 1 broadcast by NumPy's rules.
TRAINHOOK_DECL PartialShape broadcast(const NodeSpec& node, std::size_t);

/// The shape that all inputs must have.
TRAINHOOK_DECL PartialShape merged(const NodeSpec& node, std::size_t);

}  // namespace shape_rules
}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/ops/impl/shape_rules.ipp>
#endif
