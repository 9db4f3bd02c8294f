// SPDX-License-Identifier: Apache-2.0
/// @file
/// Functions that op definitions share: checks of inputs, shapes under broadcasting and reduction, and adding nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook::detail {

/// The graph of an input. @throws InvalidArgumentError, naming `op`, for an empty handle.
TRAINHOOK_DECL Graph& graph_of(std::string_view op, const Output& x);

TRAINHOOK_DECL void require_same_dtype(std::string_view op, const Output& a, const Output& b);
TRAINHOOK_DECL void require_dtype(std::string_view op, const Output& x, bool allowed, std::string_view wanted);
TRAINHOOK_DECL void require_floating(std::string_view op, const Output& x);

/// @throws InvalidArgumentError if the input cannot have that rank.
TRAINHOOK_DECL void require_rank(std::string_view op, const Output& x, std::size_t rank);

/// The axis counted from the front; a negative one counts from the back. @throws InvalidArgumentError if it is out of
/// range.
TRAINHOOK_DECL std::size_t normalized_axis(std::string_view op, std::int64_t axis, std::size_t rank, const Output& x);

TRAINHOOK_DECL std::vector<std::int64_t> dims_of(const PartialShape& shape);
TRAINHOOK_DECL PartialShape shape_of(const std::vector<std::int64_t>& dims);
TRAINHOOK_DECL PartialShape unknown_of_rank(std::size_t rank);

/// Whether two dimensions can be equal; an unknown one can equal any.
constexpr bool may_equal(std::int64_t a, std::int64_t b) noexcept {
  return a == b || a == kUnknownDim || b == kUnknownDim;
}

/// The result of broadcasting two dimensions by NumPy's rules, or nothing if they do not fit.
TRAINHOOK_DECL std::optional<std::int64_t> broadcast_dim(std::int64_t a, std::int64_t b) noexcept;

TRAINHOOK_DECL PartialShape broadcast_shape(std::string_view op, const Output& a, const Output& b);

/// Combines two compatible shapes: each dimension that one of them knows is known.
TRAINHOOK_DECL PartialShape merge(const PartialShape& a, const PartialShape& b);

/// Combines what is known of two shapes that must be equal. @throws InvalidArgumentError if they differ.
TRAINHOOK_DECL PartialShape merged_shape(std::string_view op, const Output& a, const Output& b);

/// Combines what is known of the shapes of `inputs`, which must be equal. @throws InvalidArgumentError if two differ.
TRAINHOOK_DECL PartialShape merged_shapes(std::string_view op, std::span<const Output> inputs);

/// The shape after reducing over `axes`, counted from the front.
TRAINHOOK_DECL PartialShape reduced_shape(const PartialShape& shape, const std::vector<std::size_t>& axes,
                                          bool keep_dims);

/// Adds a node of the op type `def`, as `Graph::add` does. The type, and dtype attributes that follow from the inputs,
/// may be left out.
TRAINHOOK_DECL Operation add_node(Graph& graph, const OpDef& def, NodeSpec spec);

/// Adds a node with one output to the graph of its inputs; it must have at least one.
TRAINHOOK_DECL Output add_op(const OpDef& def, std::string_view name, std::vector<Output> inputs, Attrs attrs = {});

/// The elements of a constant int32 or int64 tensor; nothing if `x` is not one.
TRAINHOOK_DECL std::optional<std::vector<std::int64_t>> constant_integers(const Output& x);

/// One element of such a tensor, without reading the others; nothing if there is none.
TRAINHOOK_DECL std::optional<std::int64_t> constant_integer(const Output& x, std::size_t index);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/op_builder.ipp>
#endif
