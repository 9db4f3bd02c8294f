// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ops that join tensors or select parts by index: concat, stack, gather.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook {
namespace detail {

/// ConcatOffset, ConcatV2, DynamicStitch, GatherV2, Pack, ParallelDynamicStitch, Unpack, UnsortedSegmentSum.
[[nodiscard]] TRAINHOOK_DECL OpFamily join_ops() noexcept;

/// Joins `values`, of which there are two or more, along the axis that a run gives.
TRAINHOOK_DECL Output concat_along(std::vector<Output> values, const Output& axis);

/// DynamicStitch of `count` tensors of indices and as many of values, in this order.
TRAINHOOK_DECL Output dynamic_stitch(const std::vector<Output>& indices_and_values, std::int64_t count);

TRAINHOOK_DECL Output unsorted_segment_sum(const Output& x, const Output& segments, const Output& count);

}  // namespace detail

/// Joins `values` along `axis`; a single one is given back as it is. Source: `tf.concat`.
TRAINHOOK_DECL Output concat(const std::vector<Output>& values, std::int64_t axis, std::string_view name = "concat");

/// Joins `values`, all of the same shape, along a new dimension `axis`. Source: `tf.stack`.
TRAINHOOK_DECL Output stack(const std::vector<Output>& values, std::int64_t axis = 0, std::string_view name = "stack");

/// The slices of `params` along `axis` at `indices`. Source: `tf.gather`.
TRAINHOOK_DECL Output gather(Output params, Output indices, std::int64_t axis = 0, std::string_view name = "GatherV2");

/// The rows of the table `params` at `ids`. Source: `tf.nn.embedding_lookup`.
inline Output embedding_lookup(Output params, Output ids, std::string_view name = "embedding_lookup") {
  return gather(params, ids, 0, name);
}

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/ops/impl/join.ipp>
#endif
