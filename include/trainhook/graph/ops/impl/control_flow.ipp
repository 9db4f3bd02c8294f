// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/graph/ops/control_flow.hpp>

#include <array>
#include <string>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>

namespace trainhook::detail {

inline constexpr OpDef kNoOpOp{"NoOp", "->"};

inline constexpr OpDef kStopGradientOp{"StopGradient", "T -> T", "", shape_rules::like<0>, no_gradient};

OpFamily control_flow_ops() noexcept {
  static const std::array ops{&identity_op(), &kNoOpOp, &kStopGradientOp};
  return ops;
}

}  // namespace trainhook::detail

namespace trainhook {

Output identity(Output x, std::string_view name) { return detail::add_op(detail::identity_op(), name, {x}); }

Output stop_gradient(Output x, std::string_view name) { return detail::add_op(detail::kStopGradientOp, name, {x}); }

Output with_dependencies(const std::vector<Operation>& dependencies, Output output, std::string_view name) {
  const Graph::Scope after = detail::graph_of("Identity", output).control_dependencies(dependencies);
  return identity(output, name);
}

Operation no_op(Graph& graph, std::string_view name) { return group(graph, {}, name); }

Operation group(Graph& graph, std::vector<Operation> operations, std::string_view name) {
  return detail::add_node(graph, detail::kNoOpOp, {.name = std::string(name), .control_inputs = std::move(operations)});
}

std::vector<Output> tuple(const std::vector<Output>& tensors, std::vector<Operation> control_inputs,
                          std::string_view name) {
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
