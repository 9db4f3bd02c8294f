// SPDX-License-Identifier: Apache-2.0
/// @file
/// ResourceVariables: converts the resource variables of imported graphs to reference variables.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <trainhook/compat/graph_def_reader.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph_def/node_def.hpp>

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
    ResourceOp{"ResourceApplyAdam", "ApplyAdam"},
    ResourceOp{"ResourceApplyCenteredRMSProp", "ApplyCenteredRMSProp"},
    ResourceOp{"ResourceApplyFtrl", "ApplyFtrl"},
    ResourceOp{"ResourceApplyGradientDescent", "ApplyGradientDescent"},
    ResourceOp{"ResourceApplyMomentum", "ApplyMomentum"},
    ResourceOp{"ResourceApplyProximalAdagrad", "ApplyProximalAdagrad"},
    ResourceOp{"ResourceApplyProximalGradientDescent", "ApplyProximalGradientDescent"},
    ResourceOp{"ResourceApplyRMSProp", "ApplyRMSProp"},
    ResourceOp{"ResourceGather", "GatherV2", "Tparams"},
    ResourceOp{"ResourceScatterAdd", "ScatterAdd", "T"},
    ResourceOp{"ResourceScatterSub", "ScatterSub", "T"},
    ResourceOp{"ResourceScatterUpdate", "ScatterUpdate", "T"},
    ResourceOp{"ResourceSparseApplyAdadelta", "SparseApplyAdadelta"},
    ResourceOp{"ResourceSparseApplyAdagrad", "SparseApplyAdagrad"},
    ResourceOp{"ResourceSparseApplyFtrl", "SparseApplyFtrl"},
    ResourceOp{"ResourceSparseApplyMomentum", "SparseApplyMomentum"},
    ResourceOp{"ResourceSparseApplyRMSProp", "SparseApplyRMSProp"},
    ResourceOp{"VarHandleOp", "VariableV2"},
    ResourceOp{"VarIsInitializedOp", "IsVariableInitialized", {}, "dtype"},
    ResourceOp{"VariableShape", "Shape", {}, "T"},
};

[[nodiscard]] TRAINHOOK_DECL const ResourceOp* find_resource_op(std::string_view type) noexcept;

/// Replaces resource variables, and ops on them, by reference variables and their ops, with the same names. Reads give
/// the same values, in the order that control inputs define: the attribute `kReadsOnce` makes each read keep its value.
/// Additional nodes are placed after all others.
class ResourceVariables {
 public:
  explicit ResourceVariables(GraphDef def) : def_(std::move(def)) {}

  [[nodiscard]] TRAINHOOK_DECL GraphDef replaced() &&;

 private:
  TRAINHOOK_DECL void replace(NodeDef& node, const ResourceOp& op);
  TRAINHOOK_DECL void add_axis(NodeDef& gather);
  TRAINHOOK_DECL static void erase(NodeDef& node, std::string_view key);

  GraphDef def_;
  std::unordered_map<std::string, AttrValue> dtypes_;
  std::vector<NodeDef> axes_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/impl/resource_variables.ipp>
#endif
