// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/engine/initial_values.hpp>

#include <algorithm>
#include <any>

#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook::detail {

/// True for a node with which `init_from_checkpoint` replaces an initial value.
inline bool is_restored(const Node& node) {
  return node.type() == "RestoreV2" && std::ranges::all_of(node.inputs(), [](const Output& input) {
           return input.node().type() == "Const" && input.node().inputs().empty();
         });
}

std::unordered_set<const Node*> nodes_of_initial_values(const Graph& graph) {
  std::vector<const Node*> open;
  for (const auto& [name, items] : graph.collections()) {
    for (const std::any& item : items) {
      const auto* variable = std::any_cast<Variable>(&item);
      if (variable == nullptr) continue;
      if (variable->initializer.has_value()) open.push_back(&variable->initializer.node());
      if (variable->initial_value.has_value()) open.push_back(&variable->initial_value.node());
    }
  }
  std::unordered_set<const Node*> found;
  while (!open.empty()) {
    const Node& node = *open.back();
    open.pop_back();
    if (is_variable(node) || !found.insert(&node).second) continue;
    for (const Output& input : node.inputs()) open.push_back(&input.node());
    for (const Operation& input : node.control_inputs()) open.push_back(&input.node());
  }
  return found;
}

bool InitialValues::concerns(const Node& node) {
  if (node.type() != "Assign" || node.inputs().size() < 2) return false;
  if (!has_variables_) find_variables(node.graph());
  if (!initializers_.contains(&node)) return false;
  classify(node.inputs()[1].node());
  return depends(node.inputs()[1]);
}

std::vector<Node*> InitialValues::needs(const Node& initializer) {
  std::vector<Node*> found;
  walk(
      initializer, [this](const Node& node) { return seen_.insert(&node).second; },
      [&](Node& node) {
        if (needed_.insert(&node).second) found.push_back(&node);
      });
  return found;
}

const InitialExpression& InitialValues::expression(Node& initializer) {
  const auto [entry, is_new] = expressions_.try_emplace(&initializer);
  InitialExpression& expression = entry->second;
  if (!is_new) return expression;
  std::unordered_set<const Node*> needed;
  const auto need = [&](Node& node) {
    if (needed.insert(&node).second) expression.needed.push_back(&node);
  };
  const auto enter = [&](Node& node) {
    const auto [owner, is_first] = copied_by_.try_emplace(&node, &initializer);
    if (is_first) expression.copied.push_back(&node);
    if (owner->second != &initializer) need(*owner->second);
    return is_first;
  };
  walk(initializer, enter, need);
  std::ranges::sort(expression.copied, {}, &Node::id);
  return expression;
}

bool InitialValues::depends(Output output) const {
  const auto known = depends_.find(&output.node());
  return known != depends_.end() && known->second && !is_fed(fed_, output);
}

void InitialValues::find_variables(const Graph& graph) {
  has_variables_ = true;
  for (const std::vector<Variable>& variables : {global_variables(graph), local_variables(graph)}) {
    for (const Variable& variable : variables) {
      if (!variable.initializer.has_value() || !variable.initial_value.has_value()) continue;
      initializers_.insert(&variable.initializer.node());
      // So each node depends only on older ones or on no variable, even in graphs from files.
      const Node& value = variable.initial_value.node();
      if (value.id() < variable.handle.node().id() || is_restored(value))
        variables_.emplace(&variable.handle.node(), Initialized{variable.initializer, variable.initial_value});
    }
  }
}

std::vector<Output> InitialValues::sources(const Node& node) const {
  if (is_variable(node)) {
    const auto found = variables_.find(&node);
    return found == variables_.end() ? std::vector<Output>() : std::vector{found->second.initial_value};
  }
  if (needs_no_kernel(node))
    return forwards(node) && !node.inputs().empty() ? std::vector{node.inputs()[0]} : std::vector<Output>();
  const KernelDef* def = kernels_.find(node.type());
  const bool takes_values = def != nullptr && def->make != nullptr && def->variables == 0;
  return takes_values ? std::vector<Output>(node.inputs().begin(), node.inputs().end()) : std::vector<Output>();
}

void InitialValues::classify(const Node& root) {
  std::vector<const Node*> open{&root};
  while (!open.empty()) {
    const Node& node = *open.back();
    if (depends_.contains(&node)) {
      open.pop_back();
      continue;
    }
    const std::vector<Output> from = sources(node);
    bool is_complete = true;
    for (const Output& source : from) {
      if (is_fed(fed_, source) || depends_.contains(&source.node())) continue;
      open.push_back(&source.node());
      is_complete = false;
    }
    if (!is_complete) continue;
    const bool is_dependent = is_variable(node) ? variables_.contains(&node)
                                                : std::ranges::any_of(from, [this](Output o) { return depends(o); });
    depends_.emplace(&node, is_dependent);
    open.pop_back();
  }
}

}  // namespace trainhook::detail
