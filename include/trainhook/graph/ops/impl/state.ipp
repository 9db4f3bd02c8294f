// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/graph/ops/state.hpp>

#include <array>
#include <cstddef>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>

namespace trainhook::detail {

/// What is known of the shape of the variable, input 0, and of the value, which must fit it.
inline PartialShape updated_shape(const NodeSpec& node, std::size_t) {
  const Output& variable = node.inputs[0];
  const Output& value = node.inputs[1];
  if (!variable.shape().compatible_with(value.shape()))
    throw InvalidArgumentError("{}: {} does not fit the variable {}", label(node), value, variable);
  return merge(variable.shape(), value.shape());
}

inline PartialShape assign_shape(const NodeSpec& node, std::size_t index) {
  return attr_of<bool>(node, "validate_shape") ? updated_shape(node, index) : node.inputs[1].shape();
}

inline constexpr std::string_view kUpdate = "T:number use_locking:bool=false";

inline constexpr OpDef kAssignOp{"Assign", "T T -> T", "validate_shape:bool=true use_locking:bool=true", assign_shape,
                                 no_gradient};
inline constexpr OpDef kAssignAddOp{"AssignAdd", "T T -> T", kUpdate, updated_shape, no_gradient};
inline constexpr OpDef kAssignSubOp{"AssignSub", "T T -> T", kUpdate, updated_shape, no_gradient};
inline constexpr OpDef kIsVariableInitializedOp{"IsVariableInitialized", "dtype -> bool", "", shape_rules::scalar};
inline constexpr OpDef kVariableV2Op{
    "VariableV2", "-> dtype", "dtype:type shape:shape container:string= shared_name:string=", shape_rules::attr_shape};

inline constexpr std::array kStateOps{&kAssignOp, &kAssignAddOp, &kAssignSubOp, &kIsVariableInitializedOp,
                                      &kVariableV2Op};

OpFamily state_ops() noexcept { return kStateOps; }

Operation variable_handle(Graph& graph, std::string_view name, DType dtype, const PartialShape& shape) {
  return add_node(graph, kVariableV2Op, {.name = std::string(name), .attrs = {{"dtype", dtype}, {"shape", shape}}});
}

inline Output assign_op(const OpDef& def, const Variable& variable, const Operand& operand, Attrs attrs,
                        std::string_view name) {
  if (!variable.handle.has_value()) throw InvalidArgumentError("{}: the variable is empty, it names no node", def.type);
  return add_op(def, name, {variable.ref(), operand.beside(variable.ref(), "value")}, std::move(attrs));
}

}  // namespace trainhook::detail

namespace trainhook {

Variable make_variable(std::string_view name, Output initial_value, const VariableOptions& options) {
  if (!initial_value.has_value()) throw InvalidArgumentError("variable {}: its initial value is an empty Output", name);
  Graph& graph = initial_value.graph();
  const PartialShape shape = initial_value.shape();
  if (!shape.is_fully_known()) {
    throw InvalidArgumentError("variable {}: the shape of its initial value, {}, is not fully known", name, shape);
  }
  if (options.save_slice_info != nullptr) options.save_slice_info->validate(name, shape);
  Variable variable;
  variable.trainable = options.trainable;
  variable.save_slice_info = options.save_slice_info;
  variable.initial_value = initial_value;
  variable.handle = detail::variable_handle(graph, name, initial_value.dtype(), shape);
  const Graph::Scope top_level = graph.top_level();
  variable.initializer = detail::add_op(detail::kAssignOp, variable.name() + "/Assign", {variable.ref(), initial_value},
                                        {{"use_locking", true}})
                             .operation();
  variable.read = identity(variable.ref(), variable.name() + "/read");
  for (const std::string& key : options.collections) graph.add_to_collection(key, variable);
  if (options.trainable) graph.add_to_collection(graph_keys::kTrainableVariables, variable);
  return variable;
}

Output assign(const Variable& variable, const Operand& value, std::string_view name) {
  return detail::assign_op(detail::kAssignOp, variable, value, {{"use_locking", false}}, name);
}

Output assign_add(const Variable& variable, const Operand& value, std::string_view name) {
  return detail::assign_op(detail::kAssignAddOp, variable, value, {}, name);
}

Output assign_sub(const Variable& variable, const Operand& value, std::string_view name) {
  return detail::assign_op(detail::kAssignSubOp, variable, value, {}, name);
}

Output is_variable_initialized(const Variable& variable, std::string_view name) {
  if (!variable.handle.has_value())
    throw InvalidArgumentError("IsVariableInitialized: the variable is empty, it names no node");
  return detail::add_op(detail::kIsVariableInitializedOp, name, {variable.ref()});
}

Operation variables_initializer(Graph& graph, const std::vector<Variable>& variables, std::string_view name) {
  std::vector<Operation> initializers;
  for (const Variable& variable : variables) {
    if (variable.initializer.has_value()) initializers.push_back(variable.initializer);
  }
  return group(graph, std::move(initializers), name);
}

}  // namespace trainhook
