// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of variable.hpp.
#pragma once

#include <trainhook/graph/variable.hpp>

#include <trainhook/core/error.hpp>

namespace trainhook {

TRAINHOOK_DECL Output Variable::ref() const { return Output(&handle.node(), 0); }

TRAINHOOK_DECL Variable make_variable(std::string_view name, Output initial_value, const VariableOptions& options) {
  if (!initial_value.has_value()) throw InvalidArgumentError("variable {}: its initial value is an empty Output", name);
  Graph& graph = initial_value.graph();
  const DType dtype = initial_value.dtype();
  const PartialShape shape = initial_value.shape();
  if (!shape.is_fully_known()) {
    throw InvalidArgumentError("variable {}: the shape of its initial value, {}, is not fully known", name, shape);
  }
  Variable variable;
  variable.trainable = options.trainable;
  variable.initial_value = initial_value;
  variable.handle = graph.add(
      {.type = "VariableV2",
       .name = std::string(name),
       .attrs = {{"container", std::string()}, {"dtype", dtype}, {"shape", shape}, {"shared_name", std::string()}},
       .outputs = {{dtype, shape}}});
  const Graph::Scope top_level = graph.top_level();
  variable.initializer = graph.add({.type = "Assign",
                                    .name = variable.name() + "/Assign",
                                    .inputs = {variable.ref(), initial_value},
                                    .attrs = {{"T", dtype}, {"use_locking", true}, {"validate_shape", true}},
                                    .outputs = {{dtype, shape}}});
  variable.read = graph
                      .add({.type = "Identity",
                            .name = variable.name() + "/read",
                            .inputs = {variable.ref()},
                            .attrs = {{"T", dtype}},
                            .outputs = {{dtype, shape}}})
                      .output();
  for (const std::string& key : options.collections) graph.add_to_collection(key, variable);
  if (options.trainable) graph.add_to_collection(graph_keys::kTrainableVariables, variable);
  return variable;
}

TRAINHOOK_DECL std::vector<Variable> global_variables(const Graph& graph) {
  return graph.collection<Variable>(graph_keys::kGlobalVariables);
}

TRAINHOOK_DECL std::vector<Variable> local_variables(const Graph& graph) {
  return graph.collection<Variable>(graph_keys::kLocalVariables);
}

TRAINHOOK_DECL std::vector<Variable> trainable_variables(const Graph& graph) {
  return graph.collection<Variable>(graph_keys::kTrainableVariables);
}

}  // namespace trainhook
