// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of resource_variables.hpp.
#pragma once

#include <trainhook/compat/resource_variables.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook::detail {

const ResourceOp* find_resource_op(std::string_view type) noexcept {
  const auto found = std::ranges::find(kResourceOps, type, &ResourceOp::type);
  return found == kResourceOps.end() ? nullptr : &*found;
}

GraphDef ResourceVariables::replaced() && {
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

void ResourceVariables::replace(NodeDef& node, const ResourceOp& op) {
  node.op = op.reference;
  node.output_shapes.clear();  // those of handles, and of values that are the same without
  for (const char* key : {"_output_shapes", "allowed_devices", "debug_name", "validate_indices"}) erase(node, key);
  const auto dtype = node.attrs.find("dtype");
  if (!op.dtype_as.empty() && dtype != node.attrs.end()) {
    node.attrs.insert_or_assign(std::string(op.dtype_as), dtype->second);
    erase(node, "dtype");
  }
  if (!op.taken.empty() && !node.inputs.empty()) {
    if (const auto variable = dtypes_.find(node.inputs[0]); variable != dtypes_.end())
      node.attrs.emplace(op.taken, variable->second);
  }
  if (op.type == "ReadVariableOp") node.attrs.insert_or_assign(std::string(kReadsOnce), true);
  if (op.reference == "Assign") {  // the variable's shape is a promise, whether or not TensorFlow checks it
    node.attrs.insert_or_assign("validate_shape", true);
  } else if (op.reference == "GatherV2") {
    add_axis(node);
  }
}

void ResourceVariables::add_axis(NodeDef& gather) {
  const Tensor zero(std::int32_t{0});
  axes_.push_back({.name = gather.name + "/axis", .op = "Const", .attrs = {{"dtype", DType::Int32}, {"value", zero}}});
  gather.attrs.insert_or_assign("Taxis", DType::Int32);
  const auto controls =
      std::ranges::find_if(gather.inputs, [](const std::string& input) { return input.starts_with('^'); });
  gather.inputs.insert(controls, axes_.back().name);
}

void ResourceVariables::erase(NodeDef& node, std::string_view key) {
  if (const auto found = node.attrs.find(key); found != node.attrs.end()) node.attrs.erase(found);
}

}  // namespace trainhook::detail
