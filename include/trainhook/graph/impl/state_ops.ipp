// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of state_ops.hpp.
#pragma once

#include <trainhook/graph/state_ops.hpp>

#include <string>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/op_builder.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL Output assign_op(std::string_view type, const Variable& variable, const Operand& operand, Attrs attrs,
                                std::string_view name) {
  if (!variable.handle.has_value()) throw InvalidArgumentError("{}: the variable is empty, it names no node", type);
  Graph& graph = variable.handle.graph();
  const Output value = operand.beside(variable.ref(), "value");
  require_same_dtype(type, variable.ref(), value);
  if (!variable.shape().compatible_with(value.shape())) {
    throw InvalidArgumentError("{}: {} does not fit the variable {}", type, spelled(value), spelled(variable.ref()));
  }
  attrs.emplace("T", value.dtype());
  return add_op(graph, type, name, {variable.ref(), value}, std::move(attrs), value.dtype(), variable.shape());
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL Output assign(const Variable& variable, const Operand& value, std::string_view name) {
  return detail::assign_op("Assign", variable, value, {{"use_locking", false}, {"validate_shape", true}}, name);
}

TRAINHOOK_DECL Output assign_add(const Variable& variable, const Operand& value, std::string_view name) {
  return detail::assign_op("AssignAdd", variable, value, {{"use_locking", false}}, name);
}

TRAINHOOK_DECL Output assign_sub(const Variable& variable, const Operand& value, std::string_view name) {
  return detail::assign_op("AssignSub", variable, value, {{"use_locking", false}}, name);
}

TRAINHOOK_DECL Output is_variable_initialized(const Variable& variable, std::string_view name) {
  if (!variable.handle.has_value())
    throw InvalidArgumentError("IsVariableInitialized: the variable is empty, it names no node");
  Graph& graph = variable.handle.graph();
  return detail::add_op(graph, "IsVariableInitialized", name, {variable.ref()}, {{"dtype", variable.dtype()}},
                        DType::Bool, Shape{});
}

TRAINHOOK_DECL Operation variables_initializer(Graph& graph, const std::vector<Variable>& variables,
                                               std::string_view name) {
  NodeSpec spec{.type = "NoOp", .name = std::string(name)};
  for (const Variable& variable : variables) {
    if (variable.initializer.has_value()) spec.control_inputs.push_back(variable.initializer);
  }
  return graph.add(std::move(spec));
}

}  // namespace trainhook
