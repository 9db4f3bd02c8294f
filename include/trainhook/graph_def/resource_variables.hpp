// SPDX-License-Identifier: Apache-2.0
/// @file
/// Resource variables of graphs from files, as the reference variables that this library has.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <trainhook/graph_def/graph_def_reader.hpp>

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
    ResourceOp{"ResourceApplyAdagrad", "ApplyAdagrad"},
    ResourceOp{"ResourceApplyAdam", "ApplyAdam"},
    ResourceOp{"ResourceApplyCenteredRMSProp", "ApplyCenteredRMSProp"},
    ResourceOp{"ResourceApplyGradientDescent", "ApplyGradientDescent"},
    ResourceOp{"ResourceApplyMomentum", "ApplyMomentum"},
    ResourceOp{"ResourceApplyRMSProp", "ApplyRMSProp"},
    ResourceOp{"ResourceGather", "GatherV2", "Tparams"},
    ResourceOp{"ResourceScatterAdd", "ScatterAdd", "T"},
    ResourceOp{"ResourceScatterSub", "ScatterSub", "T"},
    ResourceOp{"ResourceScatterUpdate", "ScatterUpdate", "T"},
    ResourceOp{"VarHandleOp", "VariableV2"},
    ResourceOp{"VarIsInitializedOp", "IsVariableInitialized", {}, "dtype"},
    ResourceOp{"VariableShape", "Shape", {}, "T"},
};

[[nodiscard]] inline const ResourceOp* find_resource_op(std::string_view type) noexcept {
  const auto found = std::ranges::find(kResourceOps, type, &ResourceOp::type);
  return found == kResourceOps.end() ? nullptr : &*found;
}

/// Puts reference variables in the place of resource variables, and their ops in the place of those on resources, under the same names.
/// Reading, in order with whatever control inputs say, gives the same values: a value that was read here does not change either. What a
/// node needs besides comes behind all others.
class ResourceVariables {
 public:
  explicit ResourceVariables(GraphDef def) : def_(std::move(def)) {}

  [[nodiscard]] GraphDef replaced() && {
    for (const NodeDef& node : def_.nodes) {
      const auto dtype = node.attrs.find("dtype");
      if (node.op == "VarHandleOp" && dtype != node.attrs.end()) dtypes_.emplace(node.name, dtype->second);
    }
    const std::size_t count = def_.nodes.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (const ResourceOp* op = find_resource_op(def_.nodes[i].op)) replace(def_.nodes[i], *op);
    }
    for (NodeDef& node : axes_) def_.nodes.push_back(std::move(node));
    return std::move(def_);
  }

 private:
  void replace(NodeDef& node, const ResourceOp& op) {
    node.op = op.reference;
    node.output_shapes.clear();  // those of handles, and of values that are the same without
    for (const char* key : {"_output_shapes", "allowed_devices", "debug_name", "validate_indices"}) erase(node, key);
    const auto dtype = node.attrs.find("dtype");
    if (!op.dtype_as.empty() && dtype != node.attrs.end()) {
      node.attrs.insert_or_assign(std::string(op.dtype_as), dtype->second);
      erase(node, "dtype");
    }
    if (!op.taken.empty() && !node.inputs.empty()) {
      if (const auto variable = dtypes_.find(node.inputs[0]); variable != dtypes_.end()) node.attrs.emplace(op.taken, variable->second);
    }
    if (op.reference == "Assign") {  // the variable's shape is a promise, whether or not TensorFlow checks it
      node.attrs.insert_or_assign("validate_shape", true);
    } else if (op.reference == "GatherV2") {
      add_axis(node);
    }
  }

  void add_axis(NodeDef& gather) {
    const Tensor zero(std::int32_t{0});
    axes_.push_back({.name = gather.name + "/axis", .op = "Const", .attrs = {{"dtype", DType::Int32}, {"value", zero}}});
    gather.attrs.insert_or_assign("Taxis", DType::Int32);
    const auto controls = std::ranges::find_if(gather.inputs, [](const std::string& input) { return input.starts_with('^'); });
    gather.inputs.insert(controls, axes_.back().name);
  }

  static void erase(NodeDef& node, std::string_view key) {
    if (const auto found = node.attrs.find(key); found != node.attrs.end()) node.attrs.erase(found);
  }

  GraphDef def_;
  std::unordered_map<std::string, AttrValue> dtypes_;
  std::vector<NodeDef> axes_;
};

}  // namespace trainhook::detail
