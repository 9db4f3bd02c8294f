// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ops that create and change variables.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>
#include <trainhook/graph/operand.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook {
namespace detail {

/// Assign, AssignAdd, AssignSub, IsVariableInitialized, ScatterAdd, ScatterSub, ScatterUpdate, VariableV2. A reference
/// dtype counts as the dtype it refers to.
[[nodiscard]] TRAINHOOK_DECL OpFamily state_ops() noexcept;

/// Adds a VariableV2, the handle of a Variable.
[[nodiscard]] TRAINHOOK_DECL Operation variable_handle(Graph& graph, std::string_view name, DType dtype,
                                                       const PartialShape& shape);

}  // namespace detail

struct VariableOptions {
  bool trainable = true;
  std::vector<std::string> collections = {std::string(graph_keys::kGlobalVariables)};
  std::shared_ptr<const SaveSliceInfo> save_slice_info{};  ///< for a part of a partitioned variable
};

/// Adds a variable with an initial value, in the current name scope. The initial value may depend on other variables in
/// the graph's collections: the initializer uses such a variable's value if it has one, or else its initial value.
/// @throws InvalidArgumentError if the initial value is empty, its shape is not fully known or not that of the
/// `save_slice_info`. Source:
/// `tf.compat.v1.Variable` with `use_resource=False`.
TRAINHOOK_DECL Variable make_variable(std::string_view name, Output initial_value, const VariableOptions& options = {});

/// Sets a variable; returns its new value. Source: `tf.compat.v1.assign`.
/// @throws InvalidArgumentError if dtype or shape do not fit.
TRAINHOOK_DECL Output assign(const Variable& variable, const Operand& value, std::string_view name = {});
/// Adds to a variable; returns its new value. Source: `tf.compat.v1.assign_add`.
TRAINHOOK_DECL Output assign_add(const Variable& variable, const Operand& value, std::string_view name = {});
/// Subtracts from a variable; returns its new value. Source: `tf.compat.v1.assign_sub`.
TRAINHOOK_DECL Output assign_sub(const Variable& variable, const Operand& value, std::string_view name = {});

/// Whether a variable has a value yet. Source: `tf.compat.v1.is_variable_initialized`.
TRAINHOOK_DECL Output is_variable_initialized(const Variable& variable, std::string_view name = {});

/// An operation that gives each of `variables` its initial value. Source: `tf.compat.v1.variables_initializer`.
TRAINHOOK_DECL Operation variables_initializer(Graph& graph, const std::vector<Variable>& variables,
                                               std::string_view name = "init");
/// An operation that gives every global variable its initial value. Source:
/// `tf.compat.v1.global_variables_initializer`.
inline Operation global_variables_initializer(Graph& graph) {
  return variables_initializer(graph, global_variables(graph));
}
/// An operation that gives every local variable its initial value. Source: `tf.compat.v1.local_variables_initializer`.
inline Operation local_variables_initializer(Graph& graph) {
  return variables_initializer(graph, local_variables(graph));
}

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/ops/impl/state.ipp>
#endif
