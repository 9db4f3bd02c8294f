// SPDX-License-Identifier: Apache-2.0
/// @file
/// ResourceVariables: converts the resource variables of imported graphs to reference variables.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <trainhook/compat/graph_def_reader.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/model/graph_def/node_def.hpp>

namespace trainhook::detail {

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
class ResourceVariables {
 public:
  explicit ResourceVariables(GraphDef def) : def_(std::move(def)) {}

  [[nodiscard]] TRAINHOOK_DECL GraphDef replaced() &&;

 private:
  TRAINHOOK_DECL void replace(NodeDef& node, const ResourceOp& op);
  TRAINHOOK_DECL void pass_reference(NodeDef& node);
  TRAINHOOK_DECL static bool passes_handle(const NodeDef& node);

  /// Returns the dtype of the variable whose handle an input is, or null.
  [[nodiscard]] TRAINHOOK_DECL const AttrValue* dtype_of(const NodeDef& reader) const;
  TRAINHOOK_DECL static void erase(NodeDef& node, std::string_view key);

  GraphDef def_;
  std::map<std::string, AttrValue, std::less<>> dtypes_;            // of variables
  std::map<std::string, std::string, std::less<>> passed_handles_;  // by the node that passes it on
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/impl/resource_variables.ipp>
#endif
