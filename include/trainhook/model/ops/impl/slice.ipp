// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/ops/slice.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <string>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>
#include <trainhook/model/ops/array.hpp>
#include <trainhook/model/ops/broadcast.hpp>

namespace trainhook::detail {

inline PartialShape slice_shape(const NodeSpec& node, std::size_t) {
  const Output& x = node.inputs[0];
  for (std::size_t i = 1; i < 3; ++i) require_rank(label(node), node.inputs[i], 1);
  const PartialShape ranks = merged_shape(label(node), node.inputs[1], node.inputs[2]);
  if (ranks.has_rank() && ranks[0] != kUnknownDim) require_rank(label(node), x, static_cast<std::size_t>(ranks[0]));
  const auto begin = constant_integers(node.inputs[1]);
  const auto size = constant_integers(node.inputs[2]);
  if (!size) return x.shape().has_rank() ? unknown_of_rank(x.shape().rank()) : unknown_of_extent(ranks);
  Dims dims = *size;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t extent = x.shape().has_rank() ? x.shape()[i] : kUnknownDim;
    const std::int64_t from = begin ? (*begin)[i] : 0;
    const bool fits =
        from >= 0 && dims[i] >= -1 && (extent == kUnknownDim || (from <= extent && dims[i] <= extent - from));
    if (!fits) {
      throw InvalidArgumentError("{}: begin {} and size {} leave {}", label(node),
                                 begin ? dims_to_string(*begin) : "(unknown)", dims_to_string(*size), x);
    }
    if (dims[i] == -1 && extent != kUnknownDim && begin) dims[i] = extent - from;
  }
  return shape_of(dims);
}

/// Input 0 with each dimension changed by `change(extent, its row of the constant in input 1)`, which may say that it
/// overflows.
template <class Change>
PartialShape changed(const NodeSpec& node, std::size_t columns, Change change) {
  const PartialShape& from = node.inputs[0].shape();
  const PartialShape& rows = node.inputs[1].shape();
  require_rank(label(node), node.inputs[1], columns);
  if (rows.has_rank() && rows[0] != kUnknownDim)
    require_rank(label(node), node.inputs[0], static_cast<std::size_t>(rows[0]));
  const auto amounts = constant_integers(node.inputs[1]);
  for (const std::int64_t amount : amounts.value_or(Dims()))
    if (amount < 0) throw InvalidArgumentError("{}: the amount {} is negative", label(node), amount);
  if (!from.has_rank()) return unknown_of_extent(rows);
  if (!amounts || amounts->size() != columns * from.rank()) return unknown_of_rank(from.rank());
  Dims dims = dims_of(from);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != kUnknownDim && !change(dims[i], amounts->data() + columns * i)) dims[i] = kUnknownDim;
  }
  return shape_of(dims);
}

inline PartialShape pad_shape(const NodeSpec& node, std::size_t) {
  return changed(node, 2, [](std::int64_t& dim, const std::int64_t* amount) {
    return !__builtin_add_overflow(dim, amount[0], &dim) && !__builtin_add_overflow(dim, amount[1], &dim);
  });
}

inline PartialShape tile_shape(const NodeSpec& node, std::size_t) {
  return changed(
      node, 1, [](std::int64_t& dim, const std::int64_t* times) { return !__builtin_mul_overflow(dim, *times, &dim); });
}

/// Select takes a condition like the values, a scalar, or one for each row.
inline PartialShape select_shape(const NodeSpec& node, std::size_t) {
  const PartialShape values = merged_shape(label(node), node.inputs[1], node.inputs[2]);
  const PartialShape& condition = node.inputs[0].shape();
  if (!condition.has_rank() || condition.rank() == 0 || !values.has_rank()) return values;
  if (condition.compatible_with(values)) return merge(values, condition);
  const bool fits = condition.rank() == 1 && values.rank() > 0 && may_equal(condition[0], values[0]);
  if (!fits)
    throw InvalidArgumentError("{}: {} does not choose between {}s", label(node), node.inputs[0], node.inputs[1]);
  return values;
}

inline PartialShape select_v2_shape(const NodeSpec& node, std::size_t) {
  const std::string op = label(node);
  const PartialShape values = broadcast_shape(op, node.inputs[1], node.inputs[2]);
  const PartialShape with_x = broadcast_shape(op, node.inputs[0], node.inputs[1]);
  const PartialShape with_y = broadcast_shape(op, node.inputs[0], node.inputs[2]);
  if (!values.has_rank() || !with_x.has_rank() || !with_y.has_rank()) return {};
  const std::size_t rank = (std::max)({values.rank(), with_x.rank(), with_y.rank()});
  Dims dims(rank, 1);
  for (const PartialShape& shape : {values, with_x, with_y}) {
    for (std::size_t back = 1; back <= shape.rank(); ++back)
      dims[rank - back] = broadcast_dim(dims[rank - back], shape[shape.rank() - back]).value_or(kUnknownDim);
  }
  return shape_of(dims);
}

inline Grads slice_grad(const GradientContext& context) {
  const Output x = context.input(0);
  const auto begin = constant_integers(context.input(1));
  const PartialShape& cut = context.output().shape();
  if (!begin || !x.shape().has_rank()) {
    throw UnimplementedError("the gradient of {} (Slice) needs constant bounds and a known rank",
                             context.node().name());
  }
  std::vector<PadAmount> paddings;
  for (std::size_t i = 0; i < begin->size(); ++i) {
    const bool whole = (*begin)[i] == 0 && constant_integers(context.input(2)).value_or(*begin)[i] == -1;
    if (!whole && (x.shape()[i] == kUnknownDim || cut[i] == kUnknownDim)) {
      throw UnimplementedError("the gradient of {} (Slice) needs a known extent of dimension {}", context.node().name(),
                               i);
    }
    paddings.push_back({(*begin)[i], whole ? 0 : x.shape()[i] - cut[i] - (*begin)[i]});
  }
  return {pad(context.grad(), paddings), Output(), Output()};
}

inline Grads pad_grad(const GradientContext& context) {
  const Output x = context.input(0);
  const auto paddings = constant_integers(context.input(1));
  if (!paddings) throw UnimplementedError("the gradient of {} (Pad) needs constant paddings", context.node().name());
  Dims begin;
  for (std::size_t i = 0; i < paddings->size(); i += 2) begin.push_back((*paddings)[i]);
  if (x.shape().is_fully_known()) return {slice(context.grad(), begin, dims_of(x.shape())), Output()};
  const Output from = constant_ints(context.graph(), begin, "begin");
  return {slice_with(context.grad(), from, trainhook::shape(x), x.shape()), Output()};
}

/// The copies that tiling made, as dimensions of their own, summed.
inline Grads tile_grad(const GradientContext& context) {
  const Output x = context.input(0);
  const auto multiples = constant_integers(context.input(1));
  if (!multiples || !x.shape().is_fully_known()) {
    throw UnimplementedError("the gradient of {} (Tile) needs a known shape and constant multiples",
                             context.node().name());
  }
  Dims split;
  Dims copies;
  for (std::size_t i = 0; i < multiples->size(); ++i) {
    copies.push_back(static_cast<std::int64_t>(split.size()));
    split.push_back((*multiples)[i]);
    split.push_back(x.shape()[i]);
  }
  if (split.size() > kMaxRank) {
    throw UnimplementedError("the gradient of {} (Tile) is limited to rank {}", context.node().name(), kMaxRank / 2);
  }
  return {sum_over(reshape(context.grad(), split), copies, false), Output()};
}

inline Grads select_v2_grad(const GradientContext& context) {
  const Output condition = context.input(0);
  const Output grad = context.grad();
  Grads result(3);
  if (context.needs(1)) result[1] = unbroadcast(where(condition, grad, 0), context.input(1), context.output());
  if (context.needs(2)) result[2] = unbroadcast(where(condition, 0, grad), context.input(2), context.output());
  return result;
}

inline Grads select_grad(const GradientContext& context);

inline constexpr OpDef kPadOp{"Pad", "T Tpaddings -> T", "Tpaddings:{int32,int64}=int32", pad_shape, pad_grad};
inline constexpr OpDef kSelectOp{"Select", "bool T T -> T", "", select_shape, select_grad};
inline constexpr OpDef kSelectV2Op{"SelectV2", "bool T T -> T", "", select_v2_shape, select_v2_grad};
inline constexpr OpDef kSliceOp{"Slice", "T Index Index -> T", "Index:{int32,int64}", slice_shape, slice_grad};
inline constexpr OpDef kTileOp{"Tile", "T Tmultiples -> T", "Tmultiples:{int32,int64}=int32", tile_shape, tile_grad};

Grads select_grad(const GradientContext& context) {
  const Output condition = context.input(0);
  const Output grad = context.grad();
  const Output zeros = zeros_like(context.input(1));
  Grads result(3);
  if (context.needs(1)) result[1] = add_op(kSelectOp, {}, {condition, grad, zeros});
  if (context.needs(2)) result[2] = add_op(kSelectOp, {}, {condition, zeros, grad});
  return result;
}

Output slice_with(const Output& x, const Output& begin, const Output& extents, const PartialShape& shape) {
  return add_node(x.graph(), kSliceOp, {.inputs = {x, begin, extents}, .outputs = {{x.dtype(), shape}}}).output();
}

inline constexpr std::array kSliceOps{&kPadOp, &kSelectOp, &kSelectV2Op, &kSliceOp, &kTileOp};

OpFamily slice_ops() noexcept { return kSliceOps; }

}  // namespace trainhook::detail

namespace trainhook {

Output slice(Output x, const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& size,
             std::string_view name) {
  Graph& graph = detail::graph_of("Slice", x);
  if (begin.size() != size.size())
    throw InvalidArgumentError("Slice: begin and size name {} and {} dimensions", begin.size(), size.size());
  const Output from = detail::constant_ints(graph, begin, fmt::format("{}/begin", name));
  const Output extents = detail::constant_ints(graph, size, fmt::format("{}/size", name));
  return detail::add_op(detail::kSliceOp, name, {x, from, extents});
}

Output pad(Output x, const std::vector<PadAmount>& paddings, std::string_view name) {
  Graph& graph = detail::graph_of("Pad", x);
  Tensor amounts = Tensor::uninitialized(DType::Int32, Shape{static_cast<std::int64_t>(paddings.size()), 2});
  const std::span<std::int32_t> flat = amounts.overwrite_data<std::int32_t>();
  for (std::size_t i = 0; i < paddings.size(); ++i) {
    const auto [before, after] = paddings[i];
    if (before < 0 || after < 0) throw InvalidArgumentError("Pad {}: the padding of dimension {} is negative", name, i);
    flat[2 * i] = static_cast<std::int32_t>(before);
    flat[2 * i + 1] = static_cast<std::int32_t>(after);
  }
  const Output around = constant(graph, amounts, fmt::format("{}/paddings", name));
  return detail::add_op(detail::kPadOp, name, {x, around});
}

Output tile(Output x, const std::vector<std::int64_t>& multiples, std::string_view name) {
  const Output times = detail::constant_ints(detail::graph_of("Tile", x), multiples, fmt::format("{}/multiples", name));
  return detail::add_op(detail::kTileOp, name, {x, times});
}

Output where(Output condition, const Operand& if_true, const Operand& if_false, std::string_view name) {
  const auto [x, y] = detail::both("SelectV2", if_true, if_false);
  return detail::add_op(detail::kSelectV2Op, name, {condition, x, y});
}

}  // namespace trainhook
