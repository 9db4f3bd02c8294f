// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/compat/graph_def_rewrites.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <trainhook/graph/node.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/model/graph_def/node_def.hpp>

namespace trainhook::detail {

const ResourceOp* find_resource_op(std::string_view type) noexcept {
  const auto found = std::ranges::find(kResourceOps, type, &ResourceOp::type);
  return found == kResourceOps.end() ? nullptr : &*found;
}

class ResourceVariables {
 public:
  explicit ResourceVariables(GraphDef def) : def_(std::move(def)) {}

  [[nodiscard]] GraphDef replaced() && {
    for (const NodeDef& node : def_.nodes) {
      const auto dtype = node.attrs.find("dtype");
      if (node.op == "VarHandleOp" && dtype != node.attrs.end()) dtypes_.emplace(node.name, dtype->second);
      if (passes_handle(node)) passed_handles_.emplace(node.name, node.inputs[0]);
    }
    for (NodeDef& node : def_.nodes) {
      if (const ResourceOp* op = find_resource_op(node.op)) {
        replace(node, *op);
      } else if (passes_handle(node)) {
        pass_reference(node);
      }
    }
    return std::move(def_);
  }

 private:
  static bool passes_handle(const NodeDef& node) {
    return (node.op == "Switch" || node.op == "Identity") && !node.inputs.empty() && !node.attrs.contains("T");
  }

  /// Returns the dtype of the variable whose handle an input is, or null.
  [[nodiscard]] const AttrValue* dtype_of(const NodeDef& reader) const {
    std::string_view input = reader.inputs.empty() ? std::string_view() : reader.inputs[0];
    for (std::size_t steps = 0; steps <= passed_handles_.size(); ++steps) {  // fewer, unless they are a cycle
      const std::optional<InputName> name = parse_input_name(input);
      if (!name) return nullptr;
      if (const auto variable = dtypes_.find(name->node); variable != dtypes_.end()) return &variable->second;
      const auto from = passed_handles_.find(name->node);
      if (from == passed_handles_.end()) return nullptr;
      input = from->second;
    }
    return nullptr;
  }

  void pass_reference(NodeDef& node) {
    const AttrValue* const dtype = dtype_of(node);
    if (dtype == nullptr) return;
    node.op.insert(0, "Ref");
    node.attrs.emplace("T", *dtype);
    node.unheld_attrs.clear();  // the dtype of the handle
    node.output_shapes.clear();
  }

  void replace(NodeDef& node, const ResourceOp& op) {
    node.op = op.reference;
    node.output_shapes.clear();  // those of handles, and of values that are the same without
    for (const char* key : {"_output_shapes", "allowed_devices", "debug_name", "validate_indices"}) erase(node, key);
    const auto dtype = node.attrs.find("dtype");
    if (!op.dtype_as.empty() && dtype != node.attrs.end()) {
      node.attrs.insert_or_assign(std::string(op.dtype_as), dtype->second);
      erase(node, "dtype");
    }
    if (!op.taken.empty()) {
      if (const AttrValue* const dtype_of_variable = dtype_of(node)) node.attrs.emplace(op.taken, *dtype_of_variable);
    }
    if (op.type == "ReadVariableOp") node.attrs.insert_or_assign(std::string(kReadsOnce), true);
    if (op.reference == "Assign")  // the variable's shape is a promise, whether or not TensorFlow checks it
      node.attrs.insert_or_assign("validate_shape", true);
  }

  static void erase(NodeDef& node, std::string_view key) {
    if (const auto found = node.attrs.find(key); found != node.attrs.end()) node.attrs.erase(found);
  }

  GraphDef def_;
  std::map<std::string, AttrValue, std::less<>> dtypes_;            // of variables
  std::map<std::string, std::string, std::less<>> passed_handles_;  // by the node that passes it on
};

GraphDef with_reference_variables(GraphDef def) { return ResourceVariables(std::move(def)).replaced(); }

}  // namespace trainhook::detail
