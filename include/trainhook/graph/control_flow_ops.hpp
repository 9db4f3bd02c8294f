// SPDX-License-Identifier: Apache-2.0
/// @file
/// Operations that order others: no_op, group, tuple, and identity.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/graph/op_builder.hpp>

namespace trainhook {

/// The value of `x` as a node of its own. Source: `tf.identity`.
inline Output identity(Output x, std::string_view name = {}) { return detail::unary_op("Identity", x, name); }

/// The value of `x`, through which no gradient flows. Source: `tf.stop_gradient`.
inline Output stop_gradient(Output x, std::string_view name = {}) { return detail::unary_op("StopGradient", x, name); }

/// The value of `output` once `dependencies` have run. Source: `tf.control_dependencies` around `tf.identity`.
inline Output with_dependencies(const std::vector<Operation>& dependencies, Output output, std::string_view name = "control_dependency") {
  const Graph::Scope after = detail::graph_of("Identity", output).control_dependencies(dependencies);
  return identity(output, name);
}

/// An operation that does nothing; what it waits for is its use. Source: `tf.no_op`.
inline Operation no_op(Graph& graph, std::string_view name = "NoOp") { return graph.add({.type = "NoOp", .name = std::string(name)}); }

/// An operation that runs all of `operations`. Source: `tf.group`.
inline Operation group(Graph& graph, std::vector<Operation> operations, std::string_view name = "group_deps") {
  return graph.add({.type = "NoOp", .name = std::string(name), .control_inputs = std::move(operations)});
}

/// The same values, none of which is to be had before all of them, and `control_inputs`, have been computed. Source: `tf.tuple`.
inline std::vector<Output> tuple(const std::vector<Output>& tensors, std::vector<Operation> control_inputs = {},
                                 std::string_view name = "tuple") {
  if (tensors.empty()) throw InvalidArgumentError("tuple needs at least one tensor");
  Graph& graph = detail::graph_of("tuple", tensors.front());
  for (const Output& tensor : tensors) {
    graph.check_belongs(tensor, "an element of", name);
    control_inputs.push_back(tensor.operation());
  }
  const Graph::Scope scope = graph.name_scope(name);
  const Operation gate = group(graph, std::move(control_inputs));
  std::vector<Output> gated;
  for (const Output& tensor : tensors) gated.push_back(with_dependencies({gate}, tensor));
  return gated;
}

}  // namespace trainhook
