// SPDX-License-Identifier: Apache-2.0
/// @file
/// Optimizer: from a loss to the operation that makes one training step; what all optimizers share.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/graph/gradients.hpp>
#include <trainhook/graph/initializers.hpp>
#include <trainhook/graph/state_ops.hpp>

namespace trainhook {

namespace detail {

/// A number that an optimizer needs as a scalar of the graph. Constants are float32, as TensorFlow has them whatever the variables are.
inline Output hyper_parameter(Graph& graph, const Operand& value, std::string_view name) {
  if (value.is_number()) return constant(graph, Tensor(static_cast<float>(value.number())), name);
  graph.check_belongs(value.output(), name, "an optimizer");
  require_floating(name, value.output());
  require_rank(name, value.output(), 0);
  return value.output();
}

}  // namespace detail

/// A gradient and the variable it is for; the gradient is without value where the loss does not depend on the variable.
struct GradientAndVariable {
  Output gradient{};
  Variable variable{};
};

/// Base of all optimizers. Slot variables are named after the variable they serve: `w/Adam`, `w/Adam_1`. Source:
/// `tf.compat.v1.train.Optimizer`.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// An operation that makes one step downhill and, if it is given, adds one to the global step after all else.
  /// Without a list, all trainable variables of the graph are trained.
  Operation minimize(Output loss, const std::optional<Variable>& global_step = std::nullopt, const std::vector<Variable>& var_list = {},
                     const GradientOptions& options = {}) {
    return apply_gradients(compute_gradients(loss, var_list, options), global_step);
  }

  /// The first half of `minimize`. @throws InvalidArgumentError where there is nothing to train.
  [[nodiscard]] std::vector<GradientAndVariable> compute_gradients(Output loss, const std::vector<Variable>& var_list = {},
                                                                   const GradientOptions& options = {}) const {
    Graph& graph = detail::graph_of(name_, loss);
    const std::vector<Variable> variables = var_list.empty() ? trainable_variables(graph) : var_list;
    if (variables.empty()) throw InvalidArgumentError(name_, ": the graph has no trainable variables, and none were given");
    std::vector<Output> xs;
    for (const Variable& variable : variables) xs.push_back(variable.ref());
    const std::vector<Output> found = gradients(loss, xs, options);
    std::vector<GradientAndVariable> result;
    for (std::size_t i = 0; i < found.size(); ++i) result.push_back({found[i], variables[i]});
    return result;
  }

  /// The second half of `minimize`, for gradients that were changed in between, clipped for example.
  /// @throws InvalidArgumentError where no variable has a gradient, or one does not fit its variable.
  Operation apply_gradients(const std::vector<GradientAndVariable>& all, const std::optional<Variable>& global_step = std::nullopt,
                            std::string_view name = {}) {
    std::vector<GradientAndVariable> pairs;
    for (const GradientAndVariable& pair : all) {
      if (pair.gradient.has_value()) pairs.push_back(checked(pair));
    }
    if (pairs.empty()) {
      throw InvalidArgumentError("No gradients provided for any variable: the loss depends on none of those that ", name_, " is to train");
    }
    Graph& graph = pairs.front().variable.handle.graph();
    create_variables(graph, pairs);
    const Graph::Scope scope = graph.name_scope(name.empty() ? name_ : name);
    const std::string whole = graph.current_scope();
    prepare(graph);
    std::vector<Operation> updates;
    const Operation ready = all_gradients(graph, pairs);
    for (const GradientAndVariable& pair : pairs) {
      const Graph::Scope after = graph.control_dependencies({ready});
      const Graph::Scope inner = graph.name_scope("update_" + pair.variable.name());
      updates.push_back(apply(pair.gradient, pair.variable));
    }
    finish(graph, updates);
    const Operation train = global_step ? step_after(graph, updates, *global_step, whole) : group(graph, updates, whole);
    graph.add_to_collection(graph_keys::kTrainOp, train);
    return train;
  }

  /// The slot variable of that name (`m` and `v` of Adam, for example) for a variable, or nothing.
  [[nodiscard]] std::optional<Variable> get_slot(const Variable& variable, std::string_view slot) const {
    const auto found = slots_.find({&variable.handle.node(), std::string(slot)});
    return found == slots_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 protected:
  explicit Optimizer(std::string name) : name_(std::move(name)) {}
  Optimizer(const Optimizer&) = default;
  Optimizer& operator=(const Optimizer&) = default;

  /// Adds the slots of one variable, by `add_slot`.
  virtual void create_slots(const Variable&) {}
  /// Adds what serves all variables, outside the optimizer's scope; the first of them is given.
  virtual void create_shared(Graph&, const Variable&) {}
  /// Adds the constants, inside the optimizer's scope.
  virtual void prepare(Graph&) = 0;
  /// Adds the update of one variable.
  virtual Operation apply(Output gradient, const Variable& variable) = 0;
  /// Adds what follows all updates, and appends it to them.
  virtual void finish(Graph&, std::vector<Operation>&) {}

  void add_slot(const Variable& variable, std::string_view slot, const Initializer& initializer) {
    const std::pair<const Node*, std::string> key{&variable.handle.node(), slot};
    if (slots_.contains(key)) return;
    Graph& graph = variable.handle.graph();
    const Graph::Scope top_level = graph.top_level();
    const std::string base = str_cat(variable.name(), "/", name_);
    std::string full = base;
    for (int suffix = 1; graph.find_operation(full).has_value(); ++suffix) full = str_cat(base, "_", suffix);
    slots_.emplace(key, get_variable(graph, full, variable.shape().known(),
                                     {.dtype = variable.dtype(), .initializer = initializer, .trainable = false}));
  }
  [[nodiscard]] Output slot_ref(const Variable& variable, std::string_view slot) const { return get_slot(variable, slot)->ref(); }

  /// Whether a number is what it may be; what a tensor holds is known only in a run. @throws InvalidArgumentError otherwise.
  static void require(std::string_view optimizer, std::string_view option, const Operand& value, bool (*holds)(double),
                      std::string_view rule) {
    if (!value.is_number() && !value.output().has_value()) {
      throw InvalidArgumentError(optimizer, ": ", option, " is an empty Output; give a number or a scalar of the graph");
    }
    if (value.is_number() && !holds(value.number())) {
      throw InvalidArgumentError(optimizer, ": ", option, " must be ", rule, ", not ", value.number());
    }
  }
  static void require_not_negative(std::string_view optimizer, std::string_view option, const Operand& value) {
    require(
        optimizer, option, value, [](double number) { return number >= 0; }, "given and not negative");
  }
  static void require_fraction(std::string_view optimizer, std::string_view option, const Operand& value) {
    require(
        optimizer, option, value, [](double number) { return number >= 0 && number < 1; }, "in [0, 1)");
  }

 private:
  [[nodiscard]] GradientAndVariable checked(const GradientAndVariable& pair) const {
    pair.variable.handle.graph().check_belongs(pair.gradient, "the gradient of", pair.variable.name());
    detail::require_same_dtype(name_, pair.variable.ref(), pair.gradient);
    static_cast<void>(detail::merged_shape(name_, pair.variable.ref(), pair.gradient));
    return pair;
  }

  void create_variables(Graph& graph, const std::vector<GradientAndVariable>& pairs) {
    create_shared(graph, pairs.front().variable);
    for (const GradientAndVariable& pair : pairs) create_slots(pair.variable);
  }

  /// No variable changes before all gradients are there: one is needed to compute others, and TensorFlow reads such variables in place.
  static Operation all_gradients(Graph& graph, const std::vector<GradientAndVariable>& pairs) {
    std::vector<Operation> operations;
    for (const GradientAndVariable& pair : pairs) operations.push_back(pair.gradient.operation());
    return group(graph, std::move(operations), "gradients");
  }

  static Operation step_after(Graph& graph, const std::vector<Operation>& updates, const Variable& step, const std::string& whole) {
    const Operation updated = group(graph, updates, "update");
    const Graph::Scope after = graph.control_dependencies({updated});
    return assign_add(step, 1, whole).operation();
  }

  std::string name_;
  std::map<std::pair<const Node*, std::string>, Variable> slots_;
};

}  // namespace trainhook
