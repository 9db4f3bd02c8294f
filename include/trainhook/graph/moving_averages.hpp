// SPDX-License-Identifier: Apache-2.0
/// @file
/// Averages of variables that forget slowly, for evaluation.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/graph/control_flow_ops.hpp>
#include <trainhook/graph/initializers.hpp>
#include <trainhook/graph/slice_ops.hpp>
#include <trainhook/graph/state_ops.hpp>

namespace trainhook {

struct MovingAverageOptions {
  double decay = 0.999;
  std::optional<Output> num_updates{};  ///< an integer scalar, such as the global step: the decay is smaller while it is
  std::string name = "ExponentialMovingAverage";
};

/// Keeps `average = decay * average + (1 - decay) * variable` for each variable, in `<variable>/ExponentialMovingAverage`.
/// Source: `tf.train.ExponentialMovingAverage`, without zero_debias.
class ExponentialMovingAverage {
 public:
  explicit ExponentialMovingAverage(MovingAverageOptions options = MovingAverageOptions()) : options_(std::move(options)) {
    if (!(options_.decay >= 0 && options_.decay < 1)) {
      throw InvalidArgumentError(options_.name, ": decay ", options_.decay, " must lie in [0, 1)");
    }
  }

  /// The operation that brings all averages up to date; run it after the training step. Averages start from the initial values.
  /// @throws InvalidArgumentError for a variable that has an average already, no initial value, or no floating dtype.
  Operation apply(const std::vector<Variable>& variables) {
    if (variables.empty()) throw InvalidArgumentError(options_.name, " needs at least one variable");
    Graph& graph = detail::graph_of(options_.name, variables.front().ref());
    for (const Variable& variable : variables) add_average(graph, variable);
    const Graph::Scope scope = graph.name_scope(options_.name);
    const std::string whole = graph.current_scope();
    const Output forget = forgetting(graph);
    std::vector<Operation> updates;
    for (const Variable& variable : variables) {
      const Variable& kept = averages_.at(&variable.handle.node());
      const Output now = identity(variable.ref(), "now");  // not variable.read, which may have been taken before the step that this follows
      updates.push_back(assign_sub(kept, (kept - now) * cast(forget, variable.dtype())).operation());
    }
    return group(graph, std::move(updates), whole);
  }

  /// The variable that holds the average, or nothing.
  [[nodiscard]] std::optional<Variable> average(const Variable& variable) const {
    const auto found = averages_.find(&variable.handle.node());
    return found == averages_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] std::string average_name(const Variable& variable) const { return str_cat(variable.name(), "/", options_.name); }

 private:
  void add_average(Graph& graph, const Variable& variable) {
    detail::require_floating(options_.name, variable.ref());
    if (!variable.initial_value.has_value()) {
      throw InvalidArgumentError(options_.name, ": variable ", variable.name(), " has no initial value in the graph");
    }
    if (average(variable)) throw InvalidArgumentError(options_.name, ": variable ", variable.name(), " has an average already");
    const Graph::Scope top_level = graph.top_level();
    averages_.emplace(&variable.handle.node(), make_variable(average_name(variable), variable.initial_value, {.trainable = false}));
    graph.add_to_collection(graph_keys::kMovingAverageVariables, variable);
  }

  /// One minus the decay.
  [[nodiscard]] Output forgetting(Graph& graph) const {
    const Output decay = constant(graph, Tensor(static_cast<float>(options_.decay)), "decay");
    if (!options_.num_updates) return 1 - decay;
    const Output updates = cast(*options_.num_updates, DType::Float);
    return 1 - minimum(decay, (1 + updates) / (10 + updates));
  }

  MovingAverageOptions options_;
  std::map<const Node*, Variable> averages_;
};

}  // namespace trainhook
