// SPDX-License-Identifier: Apache-2.0
/// @file
/// Operations that change variables.
#pragma once

#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/operand.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook {

/// Sets a variable; the result is its new value. Source: `tf.compat.v1.assign`.
/// @throws InvalidArgumentError where dtype or shape do not fit.
TRAINHOOK_DECL Output assign(const Variable& variable, const Operand& value, std::string_view name = {});
/// Adds to a variable; the result is its new value. Source: `tf.compat.v1.assign_add`.
TRAINHOOK_DECL Output assign_add(const Variable& variable, const Operand& value, std::string_view name = {});
/// Subtracts from a variable; the result is its new value. Source: `tf.compat.v1.assign_sub`.
TRAINHOOK_DECL Output assign_sub(const Variable& variable, const Operand& value, std::string_view name = {});

/// Whether a variable has a value yet. Source: `tf.compat.v1.is_variable_initialized`.
TRAINHOOK_DECL Output is_variable_initialized(const Variable& variable, std::string_view name = {});

/// An operation that gives each of `variables` its initial value. Source: `tf.compat.v1.variables_initializer`.
TRAINHOOK_DECL Operation variables_initializer(Graph& graph, const std::vector<Variable>& variables,
                                               std::string_view name = "init");
inline Operation global_variables_initializer(Graph& graph) {
  return variables_initializer(graph, global_variables(graph));
}
inline Operation local_variables_initializer(Graph& graph) {
  return variables_initializer(graph, local_variables(graph));
}

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/state_ops.ipp>
#endif
