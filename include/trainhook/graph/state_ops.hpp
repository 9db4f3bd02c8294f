// SPDX-License-Identifier: Apache-2.0
/// @file
/// Operations that change variables.
#pragma once

#include <string>
#include <string_view>

#include <trainhook/graph/operand.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook {
namespace detail {

inline Output assign_op(std::string_view type, const Variable& variable, const Operand& operand, Attrs attrs, std::string_view name) {
  if (!variable.handle.has_value()) throw InvalidArgumentError(type, ": the variable is empty, it names no node");
  Graph& graph = variable.handle.graph();
  const Output value = operand.beside(variable.ref(), "value");
  require_same_dtype(type, variable.ref(), value);
  if (!variable.shape().compatible_with(value.shape())) {
    throw InvalidArgumentError(type, ": ", spelled(value), " does not fit the variable ", spelled(variable.ref()));
  }
  attrs.emplace("T", value.dtype());
  return add_op(graph, type, name, {variable.ref(), value}, std::move(attrs), value.dtype(), variable.shape());
}

}  // namespace detail

/// Sets a variable; the result is its new value. Source: `tf.compat.v1.assign`.
/// @throws InvalidArgumentError where dtype or shape do not fit.
inline Output assign(const Variable& variable, const Operand& value, std::string_view name = {}) {
  return detail::assign_op("Assign", variable, value, {{"use_locking", false}, {"validate_shape", true}}, name);
}
/// Adds to a variable; the result is its new value. Source: `tf.compat.v1.assign_add`.
inline Output assign_add(const Variable& variable, const Operand& value, std::string_view name = {}) {
  return detail::assign_op("AssignAdd", variable, value, {{"use_locking", false}}, name);
}
/// Subtracts from a variable; the result is its new value. Source: `tf.compat.v1.assign_sub`.
inline Output assign_sub(const Variable& variable, const Operand& value, std::string_view name = {}) {
  return detail::assign_op("AssignSub", variable, value, {{"use_locking", false}}, name);
}

/// Whether a variable has a value yet. Source: `tf.compat.v1.is_variable_initialized`.
inline Output is_variable_initialized(const Variable& variable, std::string_view name = {}) {
  if (!variable.handle.has_value()) throw InvalidArgumentError("IsVariableInitialized: the variable is empty, it names no node");
  Graph& graph = variable.handle.graph();
  return detail::add_op(graph, "IsVariableInitialized", name, {variable.ref()}, {{"dtype", variable.dtype()}}, DType::Bool, Shape{});
}

/// An operation that gives each of `variables` its initial value. Source: `tf.compat.v1.variables_initializer`.
inline Operation variables_initializer(Graph& graph, const std::vector<Variable>& variables, std::string_view name = "init") {
  NodeSpec spec{.type = "NoOp", .name = std::string(name)};
  for (const Variable& variable : variables) {
    if (variable.initializer.has_value()) spec.control_inputs.push_back(variable.initializer);
  }
  return graph.add(std::move(spec));
}
inline Operation global_variables_initializer(Graph& graph) { return variables_initializer(graph, global_variables(graph)); }
inline Operation local_variables_initializer(Graph& graph) { return variables_initializer(graph, local_variables(graph)); }

}  // namespace trainhook
