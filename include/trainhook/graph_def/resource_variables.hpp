// SPDX-License-Identifier: Apache-2.0
/// @file
/// Resource variables of graphs from files, as the reference variables that this library has.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph_def/graph_def_reader.hpp>
#include <trainhook/graph_def/node_def.hpp>

namespace trainhook::detail {

/// An op type on resource variables, and the one on reference variables that does the same.
struct ResourceOp {
  std::string_view type{};
  std::string_view reference{};
  std::string_view dtype_as{};  ///< what the attribute `dtype` is called there; empty: as here
  std::string_view taken{};     ///< an attribute that is the dtype of the variable, which this node does not say itself
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

/// Puts reference variables in the place of resource variables, and their ops in the place of those on resources, under
/// the same names. Reading, in order with whatever control inputs say, gives the same values: a value that was read
/// does not change, which the attribute `kReadsOnce` says. What a node needs besides comes behind all others.
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
#include <trainhook/graph_def/impl/resource_variables.ipp>
#endif
