// SPDX-License-Identifier: Apache-2.0
/// @file
/// The definitions of partitions, buckets, counts of equal elements, sparse tensors and accidental hits.
#pragma once

#include <trainhook/compat/ops.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>
#include <trainhook/model/ops/array.hpp>
#include <trainhook/model/ops/indexing.hpp>
#include <trainhook/model/ops/join.hpp>
#include <trainhook/model/ops/math.hpp>
#include <trainhook/model/ops/matrix.hpp>

namespace trainhook::detail {

inline PartialShape broadcast_args_shape(const NodeSpec& node, std::size_t) {
  for (const Output& input : node.inputs) require_rank(label(node), input, 1);
  const PartialShape& x = node.inputs[0].shape();
  const PartialShape& y = node.inputs[1].shape();
  const bool is_known = x.is_fully_known() && y.is_fully_known();
  return PartialShape{is_known ? (std::max)(x[0], y[0]) : kUnknownDim};
}

inline PartialShape accidental_hits_shape(const NodeSpec& node, std::size_t) {
  const Output& classes = node.inputs[0];
  require_rank(label(node), classes, 2);
  require_rank(label(node), node.inputs[1], 1);
  const auto count = attr_of<std::int64_t>(node, "num_true");
  if (classes.shape().has_rank() && classes.shape()[1] != kUnknownDim && classes.shape()[1] != count)
    throw InvalidArgumentError("{}: {} does not have {} classes in each row", label(node), classes, count);
  return PartialShape{kUnknownDim};
}

inline PartialShape dynamic_partition_shape(const NodeSpec& node, std::size_t) {
  const Output& data = node.inputs[0];
  const Output& parts = node.inputs[1];
  if (!data.shape().has_rank() || !parts.shape().has_rank()) return {};
  bool fits = parts.shape().rank() <= data.shape().rank();
  for (std::size_t i = 0; fits && i < parts.shape().rank(); ++i) fits = may_equal(data.shape()[i], parts.shape()[i]);
  if (!fits) throw InvalidArgumentError("{}: the shape of {} does not begin with that of {}", label(node), data, parts);
  Dims dims{kUnknownDim};
  for (std::size_t i = parts.shape().rank(); i < data.shape().rank(); ++i) dims.push_back(data.shape()[i]);
  return dims.size() > kMaxRank ? PartialShape() : shape_of(dims);
}

inline PartialShape same_as_input(const NodeSpec& node, std::size_t index) { return node.inputs[index].shape(); }

inline PartialShape unique_with_counts_shape(const NodeSpec& node, std::size_t index) {
  return index == 1 ? node.inputs[0].shape() : PartialShape{kUnknownDim};
}

/// The number of different elements is unknown before the graph runs; each element has an index among them.
inline PartialShape unique_shape(const NodeSpec& node, std::size_t index) {
  require_rank(label(node), node.inputs[0], 1);
  return index == 0 ? PartialShape{kUnknownDim} : node.inputs[0].shape();
}

/// As `unique_shape`, along the axis that input 1 holds; without an axis `x` is a vector.
inline PartialShape unique_along_axis_shape(const NodeSpec& node, std::size_t index) {
  const PartialShape& x = node.inputs[0].shape();
  const auto axis = constant_integers(node.inputs[1]);
  if (index == 0) return x.has_rank() ? unknown_of_rank(x.rank()) : PartialShape();
  if (index == 2 || !x.has_rank() || !axis) return PartialShape{kUnknownDim};
  require_rank(label(node), node.inputs[1], 1);
  if (axis->empty()) return unique_shape(node, index);
  if (axis->size() > 1) throw InvalidArgumentError("{}: {} names several axes", label(node), node.inputs[1]);
  return PartialShape{x[normalized_axis(label(node), axis->front(), x.rank(), node.inputs[0])]};
}

inline PartialShape list_diff_shape(const NodeSpec& node, std::size_t) {
  for (const Output& input : node.inputs) require_rank(label(node), input, 1);
  return PartialShape{kUnknownDim};
}

/// The gradients of all parts, each put where the part's elements came from.
inline Grads dynamic_partition_grad(const GradientContext& c) {
  const Output data = c.input(0);
  const Output parts = c.input(1);
  const auto count = c.node().attr<std::int64_t>("num_partitions");
  const Output rows = size(parts);
  const Output zero = constant_int(c.graph(), 0, "start");
  const Output one = constant_int(c.graph(), 1, "delta");
  const Output places = reshape_like(range(zero, rows, one), parts);
  const Operation split = add_op(*c.node().op_def(), {}, {places, parts}, {{"num_partitions", count}}).operation();
  std::vector<Output> stitched;
  for (std::int64_t i = 0; i < count; ++i) stitched.push_back(split.output(static_cast<std::size_t>(i)));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto part = static_cast<std::size_t>(i);
    stitched.push_back(c.grad(part).has_value() ? c.grad(part) : zeros_like(c.output(part)));
  }
  return {reshape_like(dynamic_stitch(stitched, count), data), Output()};
}

inline Grads identity_n_grad(const GradientContext& c) {
  Grads result;
  for (std::size_t i = 0; i < c.input_count(); ++i) result.push_back(c.grad(i));
  return result;
}

/// Each value is found again in the gradient; what it covers does not reach the default value.
inline Grads sparse_to_dense_grad(const GradientContext& c) {
  const Output indices = c.input(0);
  const PartialShape& shape = indices.shape();
  if (!shape.has_rank())
    throw UnimplementedError("the gradient of {} (SparseToDense) needs indices of known rank", c.node().name());
  const Output vectors = shape.rank() == 2 ? indices : reshape(indices, Dims{-1, 1});
  const Output values = gather_nd(c.grad(), vectors);
  const Output all = reduce_sum(reshape(c.grad(), Dims{-1}), {.axis = Dims{0}});
  const Output covered = reduce_sum(reshape(values, Dims{-1}), {.axis = Dims{0}});
  const PartialShape& given = c.input(2).shape();
  if (!given.has_rank())
    throw UnimplementedError("the gradient of {} (SparseToDense) needs values of known rank", c.node().name());
  return {Output(), Output(), given.rank() == 0 ? covered : reshape(values, Dims{-1}), subtract(all, covered)};
}

inline constexpr OpDef kBroadcastArgsOp{"BroadcastArgs", "T T -> T", "T:{int32,int64}=int32", broadcast_args_shape,
                                        no_gradient};
inline constexpr OpDef kBucketizeOp{"Bucketize", "T -> int32", "T:{int32,int64,float32,float64} boundaries:floats",
                                    shape_rules::like<0>};
inline constexpr OpDef kComputeAccidentalHitsOp{"ComputeAccidentalHits", "int64 int64 -> int32 int64 float32",
                                                "num_true:int seed:int=0 seed2:int=0", accidental_hits_shape,
                                                no_gradient};
inline constexpr OpDef kDynamicPartitionOp{"DynamicPartition", "T int32 -> num_partitions*T", "num_partitions:int>0",
                                           dynamic_partition_shape, dynamic_partition_grad};
inline constexpr OpDef kIdentityNOp{"IdentityN", "T -> T", "T:types>0", same_as_input, identity_n_grad};
inline constexpr OpDef kListDiffOp{"ListDiff", "T T -> T out_idx", "out_idx:{int32,int64}=int32", list_diff_shape};
inline constexpr OpDef kSparseToDenseOp{"SparseToDense", "Tindices Tindices T T -> T",
                                        "validate_indices:bool=true Tindices:{int32,int64}", shape_rules::dims_in<1>,
                                        sparse_to_dense_grad};
inline constexpr OpDef kUniqueOp{"Unique", "T -> T out_idx", "out_idx:{int32,int64}=int32", unique_shape};
inline constexpr OpDef kUniqueV2Op{"UniqueV2", "T Taxis -> T out_idx",
                                   "Taxis:{int32,int64}=int64 out_idx:{int32,int64}=int32", unique_along_axis_shape};
inline constexpr OpDef kUniqueWithCountsV2Op{"UniqueWithCountsV2", "T Taxis -> T out_idx out_idx",
                                             "Taxis:{int32,int64}=int64 out_idx:{int32,int64}=int32",
                                             unique_along_axis_shape};
inline constexpr OpDef kUniqueWithCountsOp{"UniqueWithCounts", "T -> T out_idx out_idx", "out_idx:{int32,int64}=int32",
                                           unique_with_counts_shape};

inline constexpr std::array kPartitionOps{
    &kBroadcastArgsOp, &kBucketizeOp,        &kComputeAccidentalHitsOp, &kDynamicPartitionOp,
    &kIdentityNOp,     &kListDiffOp,         &kSparseToDenseOp,         &kUniqueOp,
    &kUniqueV2Op,      &kUniqueWithCountsOp, &kUniqueWithCountsV2Op};

OpFamily partition_ops() noexcept { return kPartitionOps; }

}  // namespace trainhook::detail
