// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/ops/split.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>
#include <trainhook/model/ops/join.hpp>

namespace trainhook::detail {

/// The dimension that a scalar constant names; nothing if it is not a constant or the rank is unknown.
inline std::optional<std::size_t> split_axis(const NodeSpec& node, const Output& x, const Output& axis) {
  require_rank(label(node), axis, 0);
  const auto values = constant_integers(axis);
  if (!values || !x.shape().has_rank()) return std::nullopt;
  if (x.shape().rank() == 0) throw InvalidArgumentError("{}: {} is a scalar and cannot be split", label(node), x);
  return normalized_axis(label(node), values->front(), x.shape().rank(), x);
}

inline PartialShape with_dim_at(const PartialShape& shape, std::size_t axis, std::int64_t dim) {
  Dims dims = dims_of(shape);
  dims[axis] = dim;
  return shape_of(dims);
}

inline PartialShape split_shape(const NodeSpec& node, std::size_t) {
  const Output& x = node.inputs[1];
  const auto count = attr_of<std::int64_t>(node, "num_split");
  const std::optional<std::size_t> axis = split_axis(node, x, node.inputs[0]);
  if (!axis) return x.shape().has_rank() ? unknown_of_rank(x.shape().rank()) : PartialShape();
  const std::int64_t dim = x.shape()[*axis];
  if (dim != kUnknownDim && dim % count != 0)
    throw InvalidArgumentError("{}: dimension {} of {} cannot be split into {} equal parts", label(node), *axis, x,
                               count);
  return with_dim_at(x.shape(), *axis, dim == kUnknownDim ? dim : dim / count);
}

/// The size of a part whose size is given as -1, as far as it is known; reads all sizes.
/// @throws InvalidArgumentError if they do not fit together.
inline std::int64_t size_left(const NodeSpec& node, std::size_t axis) {
  const Output& x = node.inputs[0];
  const auto sizes = constant_integers(node.inputs[1]);
  if (!sizes) return kUnknownDim;
  std::int64_t sum = 0;
  for (const std::int64_t size : *sizes) {
    if (size < -1 || (size > 0 && __builtin_add_overflow(sum, size, &sum)))
      throw InvalidArgumentError("{}: {} cannot be the size of a part", label(node), size);
  }
  const std::int64_t dim = x.shape()[axis];
  const auto open = std::ranges::count(*sizes, -1);
  if (open > 1 || (dim != kUnknownDim && (open == 1 ? sum > dim : sum != dim))) {
    throw InvalidArgumentError("{}: sizes {} do not add up to dimension {} of {}", label(node), dims_to_string(*sizes),
                               axis, x);
  }
  return dim == kUnknownDim ? kUnknownDim : dim - sum;
}

inline PartialShape split_v_shape(const NodeSpec& node, std::size_t index) {
  const Output& x = node.inputs[0];
  require_rank(label(node), node.inputs[1], 1);
  if (x.shape().has_rank() && x.shape().rank() == 0)
    throw InvalidArgumentError("{}: {} is a scalar and cannot be split", label(node), x);
  const PartialShape& sizes = node.inputs[1].shape();
  const auto parts = attr_of<std::int64_t>(node, "num_split");
  if (sizes.has_rank() && sizes[0] != kUnknownDim && sizes[0] != parts)
    throw InvalidArgumentError("{}: {} does not hold the sizes of {} parts", label(node), node.inputs[1], parts);
  const std::optional<std::size_t> axis = split_axis(node, x, node.inputs[2]);
  if (!axis) return x.shape().has_rank() ? unknown_of_rank(x.shape().rank()) : PartialShape();
  std::int64_t size = constant_integer(node.inputs[1], index).value_or(kUnknownDim);
  // There may be many parts, so only the first, which checks all sizes, and the one without size look at all of them.
  if (index == 0 || size == -1) {
    const std::int64_t left = size_left(node, *axis);
    if (size == -1) size = left;
  }
  return with_dim_at(x.shape(), *axis, size);
}

inline PartialShape reverse_shape(const NodeSpec& node, std::size_t) {
  const Output& x = node.inputs[0];
  require_rank(label(node), node.inputs[1], 1);
  const auto axes = constant_integers(node.inputs[1]);
  if (!axes || !x.shape().has_rank()) return x.shape();
  std::vector<bool> seen(x.shape().rank());
  for (const std::int64_t entry : *axes) {
    const std::size_t axis = normalized_axis(label(node), entry, seen.size(), x);
    if (seen[axis]) throw InvalidArgumentError("{}: axis {} of {} is named twice", label(node), axis, x);
    seen[axis] = true;
  }
  return x.shape();
}

/// The gradients of all parts joined; zeros for parts that nothing depends on.
inline Output joined_parts(const GradientContext& context, const Output& axis) {
  std::vector<Output> inputs;
  for (std::size_t i = 0; i < context.node().outputs().size(); ++i)
    inputs.push_back(context.grad(i).has_value() ? context.grad(i) : zeros_like(context.output(i)));
  if (inputs.size() == 1) return inputs.front();
  return concat_along(std::move(inputs), axis);
}

inline Grads split_grad(const GradientContext& context) { return {Output(), joined_parts(context, context.input(0))}; }
inline Grads split_v_grad(const GradientContext& context) {
  return {joined_parts(context, context.input(2)), Output(), Output()};
}
inline Grads reverse_grad(const GradientContext& context) {
  return {add_op(*context.node().op_def(), {}, {context.grad(), context.input(1)}), Output()};
}

inline constexpr OpDef kReverseV2Op{"ReverseV2", "T Tidx -> T", "Tidx:{int32,int64}=int32", reverse_shape,
                                    reverse_grad};
inline constexpr OpDef kSplitOp{"Split", "int32 T -> num_split*T", "num_split:int>0", split_shape, split_grad};
inline constexpr OpDef kSplitVOp{"SplitV", "T Tlen int32 -> num_split*T", "num_split:int>0 Tlen:{int32,int64}=int64",
                                 split_v_shape, split_v_grad};

inline constexpr std::array kSplitOps{&kReverseV2Op, &kSplitOp, &kSplitVOp};

OpFamily split_ops() noexcept { return kSplitOps; }

inline std::vector<Output> outputs_of(const Operation& op) {
  std::vector<Output> result;
  for (std::size_t i = 0; i < op.node().outputs().size(); ++i) result.push_back(op.output(i));
  return result;
}

}  // namespace trainhook::detail

namespace trainhook {

std::vector<Output> split(Output x, std::int64_t count, std::int64_t axis, std::string_view name) {
  Graph& graph = detail::graph_of("Split", x);
  if (count < 1) throw InvalidArgumentError("Split: {} cannot be split into {} parts", x, count);
  const Output along = detail::constant_int(graph, axis, fmt::format("{}/split_dim", name));
  return detail::outputs_of(detail::add_node(
      graph, detail::kSplitOp, {.name = std::string(name), .inputs = {along, x}, .attrs = {{"num_split", count}}}));
}

std::vector<Output> split(Output x, const std::vector<std::int64_t>& sizes, std::int64_t axis, std::string_view name) {
  Graph& graph = detail::graph_of("SplitV", x);
  if (sizes.empty()) throw InvalidArgumentError("SplitV: {} needs the size of at least one part", x);
  const Output parts = detail::constant_ints(graph, sizes, fmt::format("{}/size_splits", name));
  const Output along = detail::constant_int(graph, axis, fmt::format("{}/split_dim", name));
  const auto count = static_cast<std::int64_t>(sizes.size());
  return detail::outputs_of(
      detail::add_node(graph, detail::kSplitVOp,
                       {.name = std::string(name), .inputs = {x, parts, along}, .attrs = {{"num_split", count}}}));
}

Output reverse(Output x, const std::vector<std::int64_t>& axis, std::string_view name) {
  const Output axes = detail::constant_ints(detail::graph_of("ReverseV2", x), axis, fmt::format("{}/axis", name));
  return detail::add_op(detail::kReverseV2Op, name, {x, axes});
}

}  // namespace trainhook
