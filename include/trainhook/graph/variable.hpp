// SPDX-License-Identifier: Apache-2.0
/// @file
/// Variables: state that a session holds and a checkpoint keeps.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/graph_keys.hpp>

namespace trainhook {

/// TensorFlow 1's reference variable: the `VariableV2` node called `name`, its `name/Assign` and its `name/read`.
/// Stands for its value wherever an `Output` is wanted. A small value type: copies name the same variable.
struct Variable {
  Operation handle{};         ///< the VariableV2 node; its name is the variable's name, in checkpoints too
  Operation initializer{};    ///< runs the initial value; without value where the engine's user owns the memory
  Output initial_value{};     ///< without value in the same case
  Output read{};              ///< the value as an Identity
  bool trainable = false;

  operator Output() const noexcept { return read; }
  [[nodiscard]] const std::string& name() const { return handle.name(); }
  [[nodiscard]] Output ref() const { return Output(&handle.node(), 0); }
  [[nodiscard]] DType dtype() const { return ref().dtype(); }
  [[nodiscard]] const PartialShape& shape() const { return ref().shape(); }
  friend bool operator==(const Variable& a, const Variable& b) noexcept { return a.handle == b.handle; }
};

struct VariableOptions {
  bool trainable = true;
  std::vector<std::string> collections = {std::string(graph_keys::kGlobalVariables)};
};

/// Adds a variable with an initial value, under the current name scope.
/// @throws InvalidArgumentError where the initial value is empty, or its shape is not fully known.
inline Variable make_variable(std::string_view name, Output initial_value, const VariableOptions& options = {}) {
  if (!initial_value.has_value()) throw InvalidArgumentError("variable ", name, ": its initial value is an empty Output");
  Graph& graph = initial_value.graph();
  const DType dtype = initial_value.dtype();
  const PartialShape shape = initial_value.shape();
  if (!shape.is_fully_known()) {
    throw InvalidArgumentError("variable ", name, ": the shape of its initial value, ", shape, ", is not fully known");
  }
  Variable variable;
  variable.trainable = options.trainable;
  variable.initial_value = initial_value;
  variable.handle = graph.add({.type = "VariableV2",
                               .name = std::string(name),
                               .attrs = {{"container", std::string()}, {"dtype", dtype}, {"shape", shape}, {"shared_name", std::string()}},
                               .outputs = {{dtype, shape}}});
  const Graph::Scope top_level = graph.top_level();
  variable.initializer = graph.add({.type = "Assign",
                                    .name = variable.name() + "/Assign",
                                    .inputs = {variable.ref(), initial_value},
                                    .attrs = {{"T", dtype}, {"use_locking", true}, {"validate_shape", true}},
                                    .outputs = {{dtype, shape}}});
  variable.read = graph.add({.type = "Identity",
                             .name = variable.name() + "/read",
                             .inputs = {variable.ref()},
                             .attrs = {{"T", dtype}},
                             .outputs = {{dtype, shape}}}).output();
  for (const std::string& key : options.collections) graph.add_to_collection(key, variable);
  if (options.trainable) graph.add_to_collection(graph_keys::kTrainableVariables, variable);
  return variable;
}

[[nodiscard]] inline std::vector<Variable> global_variables(const Graph& graph) {
  return graph.collection<Variable>(graph_keys::kGlobalVariables);
}
[[nodiscard]] inline std::vector<Variable> local_variables(const Graph& graph) {
  return graph.collection<Variable>(graph_keys::kLocalVariables);
}
[[nodiscard]] inline std::vector<Variable> trainable_variables(const Graph& graph) {
  return graph.collection<Variable>(graph_keys::kTrainableVariables);
}

}  // namespace trainhook
