// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ops that only imported graphs use: partitions, counts of equal elements, sparse tensors and accidental hits.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook::detail {

/// BroadcastArgs, ComputeAccidentalHits, DynamicPartition, IdentityN, SparseToDense, UniqueWithCounts.
[[nodiscard]] TRAINHOOK_DECL OpFamily partition_ops() noexcept;

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/ops/impl/partition.ipp>
#endif
