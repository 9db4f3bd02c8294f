// SPDX-License-Identifier: Apache-2.0
/// @file
/// The op types that an import knows: those that functions of this library build, and those that only imported graphs
/// have.
#pragma once

#include <span>
#include <string_view>

#include <trainhook/compat/ops/einsum.hpp>
#include <trainhook/compat/ops/rearrange.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook {
namespace detail {

/// Assert, Merge, PreventGradient, Print, RefIdentity, RefSwitch, Switch: `tf.cond` is Switch and Merge.
[[nodiscard]] TRAINHOOK_DECL OpFamily branch_ops() noexcept;

/// LRN and LRNGrad.
[[nodiscard]] TRAINHOOK_DECL OpFamily local_response_ops() noexcept;

/// BroadcastArgs, Bucketize, ComputeAccidentalHits, DynamicPartition, IdentityN, ListDiff, SparseToDense, Unique,
/// UniqueWithCounts.
[[nodiscard]] TRAINHOOK_DECL OpFamily partition_ops() noexcept;

/// ApplyAdadelta, ApplyFtrl, ApplyProximalAdagrad, ApplyProximalGradientDescent; for rows: ScatterAdd, ScatterSub,
/// ScatterUpdate, SparseApplyAdadelta, SparseApplyAdagrad, SparseApplyFtrl, SparseApplyMomentum, SparseApplyRMSProp.
[[nodiscard]] TRAINHOOK_DECL OpFamily sparse_training_ops() noexcept;

/// TruncateDiv and TruncateMod.
[[nodiscard]] TRAINHOOK_DECL OpFamily truncation_ops() noexcept;

}  // namespace detail

namespace compat {

/// The definitions of all op types, family by family: those of `model::ops()` and of compat/ops/.
[[nodiscard]] TRAINHOOK_DECL std::span<const detail::OpFamily> ops();

}  // namespace compat

/// Returns the definition of an op type, or null. `extra` is searched before `compat::ops()`.
[[nodiscard]] TRAINHOOK_DECL const OpDef* find_op_def(std::string_view type, std::span<const OpDef> extra = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/impl/ops.ipp>
#include <trainhook/compat/ops/impl/control_flow.ipp>
#include <trainhook/compat/ops/impl/local_response.ipp>
#include <trainhook/compat/ops/impl/partition.ipp>
#include <trainhook/compat/ops/impl/sparse_training.ipp>
#include <trainhook/compat/ops/impl/truncation.ipp>
#endif
