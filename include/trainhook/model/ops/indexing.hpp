// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ops that read and write elements by their indices, or find indices: gather_nd, scatter_nd, where, top_k, in_top_k,
/// segment_sum.
#pragma once

#include <cstdint>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook {
namespace detail {

/// GatherNd, InTopKV2, ScatterNd, SegmentSum, TopKV2, Where.
[[nodiscard]] TRAINHOOK_DECL OpFamily indexing_ops() noexcept;

}  // namespace detail

/// The slices of `params` at the index vectors in the last dimension of `indices`. Source: `tf.gather_nd`.
TRAINHOOK_DECL Output gather_nd(Output params, Output indices, std::string_view name = {});

/// A tensor of zeros of shape `shape`, to which `updates` are added at `indices`. `shape` is a vector with the dtype of
/// `indices`. Source: `tf.scatter_nd`.
TRAINHOOK_DECL Output scatter_nd(Output indices, Output updates, Output shape, std::string_view name = {});

/// The indices of the elements that are true or not zero, one row each, in the order of the elements. Source:
/// `tf.where` with one argument.
TRAINHOOK_DECL Output where(Output condition, std::string_view name = {});

/// The result of `top_k`.
struct TopK {
  Output values{};
  Output indices{};  ///< in the last dimension
};

/// The `k` largest elements of each row, in decreasing order; of equal elements the first. Source: `tf.math.top_k`.
TRAINHOOK_DECL TopK top_k(Output x, std::int64_t k = 1, std::string_view name = "TopKV2");

/// Whether the prediction for each target, an index into its row of `predictions`, is among the `k` largest. Source:
/// `tf.compat.v1.math.in_top_k`.
TRAINHOOK_DECL Output in_top_k(Output predictions, Output targets, std::int64_t k, std::string_view name = "InTopKV2");

/// The sums of the slices of `data` that have the same id. `segment_ids` is a vector that does not decrease. Source:
/// `tf.math.segment_sum`.
TRAINHOOK_DECL Output segment_sum(Output data, Output segment_ids, std::string_view name = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/ops/impl/indexing.ipp>
#endif
