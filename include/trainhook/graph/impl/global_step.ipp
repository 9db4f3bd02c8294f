// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/graph/global_step.hpp>

#include <cstdint>
#include <utility>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>

namespace trainhook::detail {

/// The variable `global_step`, for a graph that came without its collections.
inline std::vector<Variable> variable_called_global_step(const Graph& graph) {
  const Operation handle = graph.find_operation("global_step");
  if (!handle.has_value() || handle.type() != "VariableV2") return {};
  const Operation read = graph.find_operation("global_step/read");
  return {{.handle = handle,
           .initializer = graph.find_operation("global_step/Assign"),
           .read = read.has_value() ? read.output() : handle.output()}};
}

}  // namespace trainhook::detail

namespace trainhook {

std::optional<Variable> get_global_step(const Graph& graph) {
  std::vector<Variable> found = graph.collection<Variable>(graph_keys::kGlobalStep);
  if (found.empty()) found = detail::variable_called_global_step(graph);
  if (found.empty()) return std::nullopt;
  if (found.size() > 1) {
    log_error("the graph has {} global steps, so none of them counts", found.size());
    return std::nullopt;
  }
  const Variable& step = found.front();
  if (!is_integer(step.dtype()) || step.shape() != PartialShape(Shape{})) {
    throw InvalidArgumentError(
        "the global step '{}' must be an integer scalar, not {}{}; create it with create_global_step(), and give "
        "another variable another name",
        step.name(), step.dtype(), step.shape());
  }
  return step;
}

Variable create_global_step(Graph& graph) {
  if (get_global_step(graph))
    throw InvalidArgumentError("the graph already has a global step; get_or_create_global_step() takes it");
  const Graph::Scope top_level = graph.top_level();
  const Output zero = constant(graph, Tensor(std::int64_t{0}), "global_step/Initializer/zeros");
  const Operation reserved = graph.find_operation("global_step");
  if (reserved.has_value())
    throw InvalidArgumentError("a node that is not a global step is called 'global_step'; give it another name");
  Variable step = make_variable("global_step", zero, {.trainable = false});
  graph.add_to_collection(graph_keys::kGlobalStep, step);
  return step;
}

Variable get_or_create_global_step(Graph& graph) {
  if (const std::optional<Variable> step = get_global_step(graph)) return *step;
  return create_global_step(graph);
}

std::optional<Output> get_or_create_global_step_read(Graph& graph) {
  const std::vector<Output> cached = graph.collection<Output>(graph_keys::kGlobalStepRead);
  if (cached.size() > 1) {
    throw FailedPreconditionError("there are multiple items in collection {}; there should be one",
                                  graph_keys::kGlobalStepRead);
  }
  if (!cached.empty()) return cached.front();
  const std::optional<Variable> step = get_global_step(graph);
  if (!step) return std::nullopt;
  const Graph::Scope top_level = graph.top_level();
  const Graph::Scope scope = graph.name_scope(step->name() + "/");
  // Without th::add, which would bring gradients and shape rules into every program.
  const Output read = graph
                          .add({.type = "AddV2",
                                .name = "add",
                                .inputs = {*step, zeros(graph, {}, step->dtype(), "add/y")},
                                .attrs = {{"T", step->dtype()}},
                                .outputs = {{step->dtype(), Shape{}}}})
                          .output();
  graph.add_to_collection(graph_keys::kGlobalStepRead, read);
  return read;
}

Output increment(const Variable& step, const Operand& amount, std::string_view name) {
  Graph& graph = step.handle.graph();
  const std::optional<Output> read = get_or_create_global_step_read(graph);
  std::vector<Operation> before;
  if (read) before.push_back(read->operation());
  const Graph::Scope after = graph.control_dependencies(std::move(before));
  return assign_add(step, amount, name);
}

}  // namespace trainhook

namespace trainhook::detail {

Variable require_global_step(const Graph& graph, std::string_view hook) {
  if (std::optional<Variable> step = get_global_step(graph)) return *std::move(step);
  throw FailedPreconditionError(
      "Global step should be created to use {}: call get_or_create_global_step(graph) before the session is made",
      hook);
}

}  // namespace trainhook::detail
