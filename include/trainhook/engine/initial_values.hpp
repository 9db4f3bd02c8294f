// SPDX-License-Identifier: Apache-2.0
/// @file
/// InitialValues: what an initializer computes if its value depends on other variables.
#pragma once

#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>
#include <trainhook/engine/plan.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook::detail {

/// Returns the nodes, except variables, from which the initial values of the graph's variables are computed.
[[nodiscard]] TRAINHOOK_DECL std::unordered_set<const Node*> nodes_of_initial_values(const Graph& graph);

/// The nodes that are computed for one initializer.
struct InitialExpression {
  std::vector<Node*> copied{};  ///< the nodes that depend on a variable, and those variables; inputs first
  std::vector<Node*> needed{};  ///< run before: nodes as in any run, and initializers that copy nodes of this one
};

/// An initializer that depends on another variable uses the value of that variable if it has one, or else its initial
/// value; so initializers can run in any order, together or alone. For this, the nodes between the variable and the
/// initializer are computed a second time, separately from those that a run fetches. This applies to the variables in
/// the collections of global and local variables. Source: TensorFlow's `_try_guard_against_uninitialized_dependencies`.
class InitialValues {
 public:
  InitialValues(const KernelTable& kernels, std::span<const Output> fed) : kernels_(kernels), fed_(fed) {}

  /// True for an initializer whose value depends on a variable.
  [[nodiscard]] TRAINHOOK_DECL bool concerns(const Node& node);

  /// Returns the nodes that run before the initializer, as in any run, except those that it returned before. Only for
  /// nodes for which `concerns` is true.
  [[nodiscard]] TRAINHOOK_DECL std::vector<Node*> needs(const Node& initializer);

  /// Only for nodes for which `concerns` is true. Call it for the initializers of a run in the order of their creation,
  /// because each expression is copied once per run.
  [[nodiscard]] TRAINHOOK_DECL const InitialExpression& expression(Node& initializer);

  /// True if the output is a variable or computed from one. Only for outputs in an expression.
  [[nodiscard]] TRAINHOOK_DECL bool depends(Output output) const;

  struct Initialized {
    Operation initializer{};
    Output initial_value{};
  };

  /// Only for a variable in an expression.
  [[nodiscard]] const Initialized& initialized(const Node& variable) const { return variables_.at(&variable); }

 private:
  TRAINHOOK_DECL void find_variables(const Graph& graph);

  /// The outputs that the value of `node` is computed from.
  [[nodiscard]] TRAINHOOK_DECL std::vector<Output> sources(const Node& node) const;
  TRAINHOOK_DECL void classify(const Node& root);

  /// Calls `need` for nodes that run before, `enter` for nodes that are copied. `enter` tells whether to go on there.
  template <class Enter, class Need>
  void walk(const Node& initializer, const Enter& enter, const Need& need) const {
    std::vector<Node*> open;
    const auto reach = [&](Node& node) {
      if (enter(node)) open.push_back(&node);
    };
    reach(initializer.inputs()[1].node());
    while (!open.empty()) {
      Node& node = *open.back();
      open.pop_back();
      if (is_variable(node)) need(node);
      for (const Output& source : sources(node)) {
        if (depends(source)) {
          reach(source.node());
        } else if (!is_fed(fed_, source)) {
          need(source.node());
        }
      }
      for (const Operation& input : node.control_inputs()) need(input.node());
    }
  }

  const KernelTable& kernels_;
  std::span<const Output> fed_;
  bool has_variables_ = false;
  std::unordered_map<const Node*, Initialized> variables_;
  std::unordered_set<const Node*> initializers_;
  std::unordered_map<const Node*, bool> depends_;
  std::unordered_set<const Node*> seen_;    // by `needs`
  std::unordered_set<const Node*> needed_;  // that `needs` returned
  std::unordered_map<const Node*, Node*> copied_by_;
  std::unordered_map<const Node*, InitialExpression> expressions_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/impl/initial_values.ipp>
#endif
