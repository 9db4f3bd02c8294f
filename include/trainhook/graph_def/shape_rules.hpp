// SPDX-License-Identifier: Apache-2.0
/// @file
/// The shapes of outputs from inputs and attributes, as far as they are known before a graph runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/conv_ops.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/slice_ops.hpp>
#include <trainhook/graph/strided_slice_ops.hpp>

namespace trainhook::detail::shape_rules {

using Dims = std::vector<std::int64_t>;

inline PartialShape scalar(const NodeSpec&, std::size_t) { return Shape{}; }

/// Like input `Index`.
template <std::size_t Index>
PartialShape like(const NodeSpec& node, std::size_t) {
  return node.inputs[Index].shape();
}

/// As the dimensions that input `Index` holds.
template <std::size_t Index>
PartialShape dims_in(const NodeSpec& node, std::size_t) {
  return shape_in(node.inputs[Index]);
}

TRAINHOOK_DECL PartialShape attr_shape(const NodeSpec& node, std::size_t);
/// As the constant in the attribute `value`, which has to be of the dtype that the attribute `dtype` says.
TRAINHOOK_DECL PartialShape attr_value(const NodeSpec& node, std::size_t);

/// One of a list of shapes.
TRAINHOOK_DECL PartialShape attr_output_shapes(const NodeSpec& node, std::size_t index);

/// As the queue that input 0 names says, with `rows` of them in front where there are any.
TRAINHOOK_DECL PartialShape queue_component(const NodeSpec& node, std::size_t index, const Dims& rows);
inline PartialShape queue_element(const NodeSpec& node, std::size_t index) { return queue_component(node, index, {}); }
TRAINHOOK_DECL PartialShape queue_elements(const NodeSpec& node, std::size_t index);
TRAINHOOK_DECL PartialShape broadcast(const NodeSpec& node, std::size_t);
TRAINHOOK_DECL PartialShape select(const NodeSpec& node, std::size_t);
TRAINHOOK_DECL PartialShape reduction(const NodeSpec& node, std::size_t);
TRAINHOOK_DECL PartialShape arg_extreme(const NodeSpec& node, std::size_t);

/// The rank of the input of the same number as a vector's extent.
TRAINHOOK_DECL PartialShape vector_of_rank(const NodeSpec& node, std::size_t index);
inline PartialShape vector(const NodeSpec&, std::size_t) { return PartialShape{kUnknownDim}; }

/// How many different elements there are shows only when the graph runs; each has its place among them.
TRAINHOOK_DECL PartialShape unique(const NodeSpec& node, std::size_t index);

TRAINHOOK_DECL PartialShape last_dim(const NodeSpec& node, std::size_t);
TRAINHOOK_DECL PartialShape matmul(const NodeSpec& node, std::size_t);
TRAINHOOK_DECL PartialShape reshape(const NodeSpec& node, std::size_t);
TRAINHOOK_DECL PartialShape transpose(const NodeSpec& node, std::size_t);
TRAINHOOK_DECL PartialShape concat(const NodeSpec& node, std::size_t);
TRAINHOOK_DECL PartialShape slice(const NodeSpec& node, std::size_t);
TRAINHOOK_DECL PartialShape strided_slice(const NodeSpec& node, std::size_t);
TRAINHOOK_DECL PartialShape range(const NodeSpec& node, std::size_t);

/// Input 0 with each dimension changed by `change(extent, its row of the constant in input 1)`, which may say that it
/// overflows.
template <class Change>
PartialShape changed(const NodeSpec& node, std::size_t columns, Change change) {
  const PartialShape& from = node.inputs[0].shape();
  if (!from.has_rank()) return {};
  const auto amounts = constant_integers(node.inputs[1]);
  if (!amounts || amounts->size() != columns * from.rank()) return unknown_of_rank(from.rank());
  Dims dims = dims_of(from);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != kUnknownDim && !change(dims[i], amounts->data() + columns * i)) dims[i] = kUnknownDim;
    if (dims[i] < kUnknownDim) throw InvalidArgumentError("{} '{}': an amount is negative", node.type, node.name);
  }
  return shape_of(dims);
}
TRAINHOOK_DECL PartialShape pad(const NodeSpec& node, std::size_t);
TRAINHOOK_DECL PartialShape tile(const NodeSpec& node, std::size_t);
TRAINHOOK_DECL PartialShape pack(const NodeSpec& node, std::size_t);
TRAINHOOK_DECL PartialShape expand_dims(const NodeSpec& node, std::size_t);
TRAINHOOK_DECL PartialShape one_hot(const NodeSpec& node, std::size_t);
TRAINHOOK_DECL PartialShape unpack(const NodeSpec& node, std::size_t);
TRAINHOOK_DECL PartialShape squeeze(const NodeSpec& node, std::size_t);
TRAINHOOK_DECL PartialShape gather(const NodeSpec& node, std::size_t);
TRAINHOOK_DECL PartialShape segment_sum(const NodeSpec& node, std::size_t);

/// Losses [batch] and their gradients [batch, classes].
TRAINHOOK_DECL PartialShape cross_entropy(const NodeSpec& node, std::size_t index);

TRAINHOOK_DECL PartialShape conv2d(const NodeSpec& node, std::size_t);
TRAINHOOK_DECL PartialShape pool(const NodeSpec& node, std::size_t);

}  // namespace trainhook::detail::shape_rules

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph_def/impl/shape_rules.ipp>
#endif
