// SPDX-License-Identifier: Apache-2.0
/// @file
/// What becomes of a GraphDef before its nodes are added: nodes of other versions of an op type become nodes of the
/// version that runs here, bodies of functions take the place of their calls, resource variables become reference
/// variables.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include <trainhook/compat/graph_def_reader.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook::detail {

// In these, `extra` defines op types that stay as they are.

/// Replaces nodes of other versions of an op type, mostly older ones, by nodes of the same names and results. An
/// attribute that became an input is a constant in an additional node; these are placed after all others.
[[nodiscard]] TRAINHOOK_DECL GraphDef with_served_versions(GraphDef def, std::span<const OpDef> extra);

/// Returns whether some node of `def` would be replaced.
[[nodiscard]] TRAINHOOK_DECL bool has_other_versions(const GraphDef& def, std::span<const OpDef> extra);

/// Returns the op type that runs here in place of `type`; `type` itself if it is not another version of one.
[[nodiscard]] TRAINHOOK_DECL std::string_view served_version(std::string_view type) noexcept;

/// Replaces nodes that call functions of `def`: PartitionedCall, StatefulPartitionedCall, and those whose op type is
/// the name of a function. The nodes of a body have names such as `call/node`, and are placed after all others. The
/// call itself becomes the identity of the results, or a NoOp, so that its outputs keep their names. If and StatelessIf
/// become Switch and Merge, with the bodies `if/then/node` and `if/else/node`. The result has no functions.
///
/// Calls of functions that are not there or return a resource, and an If whose condition is no bool, stay as they are.
/// @throws InvalidArgumentError for a body that does not fit its call, and UnimplementedError for functions that call
/// themselves. Source: `inline_function_utils.cc` and `lower_if_op.cc` of TensorFlow.
[[nodiscard]] TRAINHOOK_DECL GraphDef with_inlined_functions(GraphDef def);

/// An op type on resource variables, and its equivalent on reference variables.
struct ResourceOp {
  std::string_view type{};
  std::string_view reference{};
  std::string_view dtype_as{};  ///< the name of the attribute `dtype` in the equivalent; empty: the same
  std::string_view taken{};     ///< an attribute that takes the variable's dtype, which the resource op lacks
};

inline constexpr std::array kResourceOps{
    ResourceOp{"AssignAddVariableOp", "AssignAdd", "T"},
    ResourceOp{"AssignSubVariableOp", "AssignSub", "T"},
    ResourceOp{"AssignVariableOp", "Assign", "T"},
    ResourceOp{"ReadVariableOp", "Identity", "T"},
    ResourceOp{"ResourceApplyAdadelta", "ApplyAdadelta"},
    ResourceOp{"ResourceApplyAdagrad", "ApplyAdagrad"},
    ResourceOp{"ResourceApplyAdagradV2", "ApplyAdagradV2"},
    ResourceOp{"ResourceApplyAdam", "ApplyAdam"},
    ResourceOp{"ResourceApplyCenteredRMSProp", "ApplyCenteredRMSProp"},
    ResourceOp{"ResourceApplyFtrl", "ApplyFtrl"},
    ResourceOp{"ResourceApplyFtrlV2", "ApplyFtrlV2"},
    ResourceOp{"ResourceApplyGradientDescent", "ApplyGradientDescent"},
    ResourceOp{"ResourceApplyMomentum", "ApplyMomentum"},
    ResourceOp{"ResourceApplyProximalAdagrad", "ApplyProximalAdagrad"},
    ResourceOp{"ResourceApplyProximalGradientDescent", "ApplyProximalGradientDescent"},
    ResourceOp{"ResourceApplyRMSProp", "ApplyRMSProp"},
    ResourceOp{"ResourceGather", "Gather", "Tparams"},
    ResourceOp{"ResourceScatterAdd", "ScatterAdd", "T"},
    ResourceOp{"ResourceScatterSub", "ScatterSub", "T"},
    ResourceOp{"ResourceScatterUpdate", "ScatterUpdate", "T"},
    ResourceOp{"ResourceSparseApplyAdadelta", "SparseApplyAdadelta"},
    ResourceOp{"ResourceSparseApplyAdagrad", "SparseApplyAdagrad"},
    ResourceOp{"ResourceSparseApplyAdagradV2", "SparseApplyAdagradV2"},
    ResourceOp{"ResourceSparseApplyFtrl", "SparseApplyFtrl"},
    ResourceOp{"ResourceSparseApplyFtrlV2", "SparseApplyFtrlV2"},
    ResourceOp{"ResourceSparseApplyMomentum", "SparseApplyMomentum"},
    ResourceOp{"ResourceSparseApplyRMSProp", "SparseApplyRMSProp"},
    ResourceOp{"VarHandleOp", "VariableV2"},
    ResourceOp{"VarIsInitializedOp", "IsVariableInitialized", {}, "dtype"},
    ResourceOp{"VariableShape", "Shape", {}, "T"},
};

[[nodiscard]] TRAINHOOK_DECL const ResourceOp* find_resource_op(std::string_view type) noexcept;

/// Replaces resource variables, and ops on them, by reference variables and their ops, with the same names. Reads give
/// the same values, in the order that control inputs define: the attribute `kReadsOnce` makes each read keep its value.
/// Nodes that pass a handle on, as `tf.cond` does, pass the reference on.
[[nodiscard]] TRAINHOOK_DECL GraphDef with_reference_variables(GraphDef def);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/impl/op_versions.ipp>
#include <trainhook/compat/impl/function_calls.ipp>
#include <trainhook/compat/impl/resource_variables.ipp>
#endif
