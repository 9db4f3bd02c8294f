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
#include <trainhook/engine/node_kinds.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook::detail {

/// The nodes that the initial values of the graph's variables are computed from, without variables.
[[nodiscard]] TRAINHOOK_DECL std::unordered_set<const Node*> nodes_of_initial_values(const Graph& graph);

/// What is computed for one initializer.
struct InitialExpression {
  std::vector<Node*> copied{};  ///< the nodes that depend on a variable, and those variables; inputs first
  std::vector<Node*> needed{};  ///< what runs before: nodes as in any run, and initializers that copy nodes of this one
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

  /// The nodes that run before the initializer, as in any run, without those that this returned before. For a node that
  /// this concerns.
  [[nodiscard]] TRAINHOOK_DECL std::vector<Node*> needs(const Node& initializer);

  /// For a node that this concerns, in the order in which the initializers of a run were created: each expression is
  /// copied once per run.
  [[nodiscard]] TRAINHOOK_DECL const InitialExpression& expression(Node& initializer);

  /// True if the output is computed from a variable, or is one. For outputs that an expression consists of.
  [[nodiscard]] TRAINHOOK_DECL bool depends(Output output) const;

  struct Initialized {
    Operation initializer{};
    Output initial_value{};
  };

  /// For a variable in an expression.
  [[nodiscard]] const Initialized& initialized(const Node& variable) const { return variables_.at(&variable); }

 private:
  TRAINHOOK_DECL void find_variables(const Graph& graph);

  /// The outputs that the value of `node` is computed from.
  [[nodiscard]] TRAINHOOK_DECL std::vector<Output> sources(const Node& node) const;
  TRAINHOOK_DECL void classify(const Node& root);

  /// Calls `need` for the nodes that run before, and `enter` for those that are copied; it says whether to go on there.
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
