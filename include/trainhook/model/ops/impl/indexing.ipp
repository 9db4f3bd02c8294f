// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/ops/indexing.hpp>

#include <array>
#include <cstddef>
#include <string>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/cast.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>
#include <trainhook/model/ops/array.hpp>
#include <trainhook/model/ops/join.hpp>
#include <trainhook/model/ops/math.hpp>

namespace trainhook::detail {

inline void require_rank_of_one_or_more(const NodeSpec& node, const Output& x) {
  if (x.shape().has_rank() && x.shape().rank() == 0)
    throw InvalidArgumentError("{}: {} must be of rank 1 or more", label(node), x);
}

/// The dimensions of `shape` from `first` to before `last`.
inline Dims dims_between(const PartialShape& shape, std::size_t first, std::size_t last) {
  const Dims dims = dims_of(shape);
  return {dims.begin() + static_cast<std::ptrdiff_t>(first), dims.begin() + static_cast<std::ptrdiff_t>(last)};
}

/// How many dimensions each vector of `indices` names; kUnknownDim if that is unknown.
inline std::int64_t depth_of(const PartialShape& indices) {
  return indices.has_rank() ? indices[indices.rank() - 1] : kUnknownDim;
}

inline PartialShape gather_nd_shape(const NodeSpec& node, std::size_t) {
  const Output& params = node.inputs[0];
  const PartialShape& indices = node.inputs[1].shape();
  require_rank_of_one_or_more(node, node.inputs[1]);
  const std::int64_t depth = depth_of(indices);
  if (!params.shape().has_rank() || depth == kUnknownDim) return {};
  if (depth > static_cast<std::int64_t>(params.shape().rank()))
    throw InvalidArgumentError("{}: {} names more dimensions than {} has", label(node), node.inputs[1], params);
  Dims dims = dims_between(indices, 0, indices.rank() - 1);
  const Dims slice = dims_between(params.shape(), static_cast<std::size_t>(depth), params.shape().rank());
  dims.insert(dims.end(), slice.begin(), slice.end());
  return dims.size() > kMaxRank ? PartialShape() : shape_of(dims);
}

inline PartialShape scatter_nd_shape(const NodeSpec& node, std::size_t) {
  const PartialShape& indices = node.inputs[0].shape();
  const Output& updates = node.inputs[1];
  const PartialShape result = shape_rules::dims_in<2>(node, 0);
  require_rank_of_one_or_more(node, node.inputs[0]);
  require_rank_of_one_or_more(node, updates);
  const auto has_elements = [](const PartialShape& shape) {
    return shape.is_fully_known() && shape.known().num_elements() > 0;
  };
  const bool is_empty = result.is_fully_known() && !has_elements(result);
  if (is_empty && (has_elements(indices) || has_elements(updates.shape())))
    throw InvalidArgumentError("{}: {} has no place in a tensor of shape {}", label(node), updates, result);
  if (!indices.has_rank() || !updates.shape().has_rank()) return result;
  const std::size_t outer = indices.rank() - 1;
  const std::int64_t depth = depth_of(indices);
  bool fits = updates.shape().rank() >= outer;
  for (std::size_t i = 0; fits && i < outer; ++i) fits = may_equal(updates.shape()[i], indices[i]);
  if (fits && depth != kUnknownDim && result.has_rank()) {
    const auto inner = static_cast<std::size_t>(depth);
    fits = inner <= result.rank() && updates.shape().rank() == outer + result.rank() - inner;
    for (std::size_t i = inner; fits && i < result.rank(); ++i)
      fits = may_equal(updates.shape()[outer + i - inner], result[i]);
  }
  if (!fits) {
    throw InvalidArgumentError("{}: {} does not go with {} in a tensor of shape {}", label(node), updates,
                               node.inputs[0], result);
  }
  return result;
}

inline PartialShape where_shape(const NodeSpec& node, std::size_t) {
  const PartialShape& x = node.inputs[0].shape();
  return PartialShape{kUnknownDim, x.has_rank() ? static_cast<std::int64_t>(x.rank()) : kUnknownDim};
}

inline PartialShape top_k_shape(const NodeSpec& node, std::size_t) {
  const Output& x = node.inputs[0];
  require_rank_of_one_or_more(node, x);
  require_rank(label(node), node.inputs[1], 0);
  const auto k = constant_integers(node.inputs[1]);
  if (k && k->front() < 0) throw InvalidArgumentError("{}: k is {}, but must not be negative", label(node), k->front());
  if (!x.shape().has_rank()) return {};
  Dims dims = dims_of(x.shape());
  if (k && dims.back() != kUnknownDim && dims.back() < k->front())
    throw InvalidArgumentError("{}: the last dimension of {} has fewer than {} elements", label(node), x, k->front());
  dims.back() = k ? k->front() : kUnknownDim;
  return shape_of(dims);
}

inline PartialShape in_top_k_shape(const NodeSpec& node, std::size_t) {
  const PartialShape& predictions = node.inputs[0].shape();
  const PartialShape& targets = node.inputs[1].shape();
  for (std::size_t i = 0; i < 3; ++i) require_rank(label(node), node.inputs[i], 2 - i);
  const std::int64_t rows = predictions.has_rank() ? predictions[0] : kUnknownDim;
  const std::int64_t count = targets.has_rank() ? targets[0] : kUnknownDim;
  if (!may_equal(rows, count)) {
    throw InvalidArgumentError("{}: {} has no target for each row of {}", label(node), node.inputs[1], node.inputs[0]);
  }
  return PartialShape{rows == kUnknownDim ? count : rows};
}

inline PartialShape sorted_segments_shape(const NodeSpec& node, std::size_t) {
  require_rank_of_one_or_more(node, node.inputs[0]);
  require_rank(label(node), node.inputs[1], 1);
  const PartialShape& data = node.inputs[0].shape();
  if (!data.has_rank()) return {};
  Dims dims = dims_of(data);
  dims.front() = kUnknownDim;
  return shape_of(dims);
}

inline Grads gather_nd_grad(const GradientContext& context) {
  const Output indices = context.input(1);
  const Output dims = shape_as(context.input(0), indices.dtype());
  return {scatter_nd(indices, context.grad(), dims), Output()};
}

inline Grads scatter_nd_grad(const GradientContext& context) {
  return {Output(), gather_nd(context.grad(), context.input(0)), Output()};
}

inline Grads segment_sum_grad(const GradientContext& context) {
  return {gather(context.grad(), context.input(1)), Output()};
}

/// The gradients of the largest elements, added where the elements were in the rows.
inline Grads top_k_grad(const GradientContext& context) {
  Grads result(2);
  if (!context.grad(0).has_value()) return result;
  const Output x = context.input(0);
  const PartialShape& found = context.output(1).shape();
  if (!x.shape().has_rank() || x.shape()[x.shape().rank() - 1] == kUnknownDim || depth_of(found) == kUnknownDim) {
    throw UnimplementedError("the gradient of {} (TopKV2) needs a constant k and a known last dimension",
                             context.node().name());
  }
  const std::int64_t columns = x.shape()[x.shape().rank() - 1];
  const Output count = size(x);
  const Output starts =
      range(constant_int(context.graph(), 0, "start"), count, constant_int(context.graph(), columns, "delta"));
  const Output in_row = reshape(cast(context.output(1), DType::Int32), {-1, depth_of(found)});
  const Output places = reshape(add(in_row, expand_dims(starts, -1)), Dims{-1});
  const Output sums = unsorted_segment_sum(reshape(context.grad(0), Dims{-1}), places, count);
  result[0] = reshape_like(sums, x);
  return result;
}

inline constexpr OpDef kGatherNdOp{"GatherNd", "Tparams Tindices -> Tparams", "Tindices:{int16,int32,int64}",
                                   gather_nd_shape, gather_nd_grad};
inline constexpr OpDef kInTopKV2Op{"InTopKV2", "float32 T T -> bool", "T:{int32,int64}=int32", in_top_k_shape,
                                   no_gradient};
inline constexpr OpDef kScatterNdOp{"ScatterNd", "Tindices T Tindices -> T", "Tindices:{int16,int32,int64}",
                                    scatter_nd_shape, scatter_nd_grad};
inline constexpr OpDef kSegmentSumOp{"SegmentSum", "T Tindices -> T", "T:number Tindices:{int32,int64}",
                                     sorted_segments_shape, segment_sum_grad};
inline constexpr OpDef kTopKV2Op{"TopKV2", "T Tk -> T index_type",
                                 "sorted:bool=true T:real Tk:{int16,int32,int64}=int32 "
                                 "index_type:{int16,int32,int64}=int32",
                                 top_k_shape, top_k_grad};
inline constexpr OpDef kWhereOp{"Where", "T -> int64", "T:{bool,number}=bool", where_shape, no_gradient};

inline constexpr std::array kIndexingOps{&kGatherNdOp,   &kInTopKV2Op, &kScatterNdOp,
                                         &kSegmentSumOp, &kTopKV2Op,   &kWhereOp};

OpFamily indexing_ops() noexcept { return kIndexingOps; }

}  // namespace trainhook::detail

namespace trainhook {

Output gather_nd(Output params, Output indices, std::string_view name) {
  return detail::add_op(detail::kGatherNdOp, name, {params, indices});
}

Output scatter_nd(Output indices, Output updates, Output shape, std::string_view name) {
  return detail::add_op(detail::kScatterNdOp, name, {indices, updates, shape});
}

Output where(Output condition, std::string_view name) { return detail::add_op(detail::kWhereOp, name, {condition}); }

TopK top_k(Output x, std::int64_t k, std::string_view name) {
  Graph& graph = detail::graph_of("TopKV2", x);
  const Output count = detail::constant_int(graph, k, fmt::format("{}/k", name));
  const Operation op = detail::add_node(graph, detail::kTopKV2Op, {.name = std::string(name), .inputs = {x, count}});
  return {op.output(0), op.output(1)};
}

Output in_top_k(Output predictions, Output targets, std::int64_t k, std::string_view name) {
  Graph& graph = detail::graph_of("InTopKV2", targets);
  const Tensor value = targets.dtype() == DType::Int64 ? Tensor(k) : Tensor(static_cast<std::int32_t>(k));
  return detail::add_op(detail::kInTopKV2Op, name,
                        {predictions, targets, constant(graph, value, fmt::format("{}/k", name))});
}

Output segment_sum(Output data, Output segment_ids, std::string_view name) {
  return detail::add_op(detail::kSegmentSumOp, name, {data, segment_ids});
}

}  // namespace trainhook
