// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/optimizers.hpp>

#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/model/initializers.hpp>
#include <trainhook/model/ops/array.hpp>
#include <trainhook/model/ops/math.hpp>
#include <trainhook/model/ops/training.hpp>

namespace trainhook::detail {

/// A hyperparameter as a scalar of the graph. Constants are float32 whatever the variables' dtype is, as in TensorFlow.
inline Output hyper_parameter(Graph& graph, const Operand& value, std::string_view name) {
  if (value.is_number()) return constant(graph, Tensor(static_cast<float>(value.number())), name);
  graph.check_belongs(value.output(), name, "an optimizer");
  require_floating(name, value.output());
  require_rank(name, value.output(), 0);
  return value.output();
}

}  // namespace trainhook::detail

namespace trainhook {

Optimizer::~Optimizer() = default;

Operation Optimizer::minimize(Output loss, const std::optional<Variable>& global_step,
                              const std::vector<Variable>& var_list, const GradientOptions& options) {
  return apply_gradients(compute_gradients(loss, var_list, options), global_step);
}

std::vector<GradientAndVariable> Optimizer::compute_gradients(Output loss, const std::vector<Variable>& var_list,
                                                              const GradientOptions& options) const {
  Graph& graph = detail::graph_of(name_, loss);
  const std::vector<Variable> variables = var_list.empty() ? trainable_variables(graph) : var_list;
  if (variables.empty())
    throw InvalidArgumentError("{}: the graph has no trainable variables, and none were given", name_);
  std::vector<Output> xs;
  for (const Variable& variable : variables) xs.push_back(variable.ref());
  const std::vector<Output> found = gradients(loss, xs, options);
  std::vector<GradientAndVariable> result;
  for (std::size_t i = 0; i < found.size(); ++i) result.push_back({found[i], variables[i]});
  return result;
}

Operation Optimizer::apply_gradients(const std::vector<GradientAndVariable>& all,
                                     const std::optional<Variable>& global_step, std::string_view name) {
  std::vector<GradientAndVariable> pairs;
  for (const GradientAndVariable& pair : all) {
    if (pair.gradient.has_value()) pairs.push_back(checked(pair));
  }
  if (pairs.empty()) {
    throw InvalidArgumentError(
        "No gradients provided for any variable: the loss depends on none of those that {} is to train", name_);
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

std::optional<Variable> Optimizer::get_slot(const Variable& variable, std::string_view slot) const {
  const auto found = slots_.find({&variable.handle.node(), std::string(slot)});
  return found == slots_.end() ? std::nullopt : std::optional(found->second);
}

void Optimizer::add_slot(const Variable& variable, std::string_view slot, const Initializer& initializer) {
  const std::pair<const Node*, std::string> key{&variable.handle.node(), slot};
  if (slots_.contains(key)) return;
  Graph& graph = variable.handle.graph();
  const Graph::Scope top_level = graph.top_level();
  const std::string base = fmt::format("{}/{}", variable.name(), name_);
  std::string full = base;
  for (int suffix = 1; graph.find_operation(full).has_value(); ++suffix) full = fmt::format("{}_{}", base, suffix);
  slots_.emplace(key, get_variable(graph, full, variable.shape().known(),
                                   {.dtype = variable.dtype(), .initializer = initializer, .trainable = false}));
}

void Optimizer::demand(std::string_view optimizer, std::string_view option, const Operand& value, bool (*holds)(double),
                       std::string_view rule) {
  if (!value.is_number() && !value.output().has_value()) {
    throw InvalidArgumentError("{}: {} is an empty Output; give a number or a scalar of the graph", optimizer, option);
  }
  if (value.is_number() && !holds(value.number())) {
    throw InvalidArgumentError("{}: {} must be {}, not {}", optimizer, option, rule, value.number());
  }
}

void Optimizer::require_not_negative(std::string_view optimizer, std::string_view option, const Operand& value) {
  demand(
      optimizer, option, value, [](double number) { return number >= 0; }, "given and not negative");
}

void Optimizer::require_fraction(std::string_view optimizer, std::string_view option, const Operand& value) {
  demand(
      optimizer, option, value, [](double number) { return number >= 0 && number < 1; }, "in [0, 1)");
}

GradientAndVariable Optimizer::checked(const GradientAndVariable& pair) const {
  pair.variable.handle.graph().check_belongs(pair.gradient, "the gradient of", pair.variable.name());
  detail::require_same_dtype(name_, pair.variable.ref(), pair.gradient);
  static_cast<void>(detail::merged_shape(name_, pair.variable.ref(), pair.gradient));
  return pair;
}

void Optimizer::create_variables(Graph& graph, const std::vector<GradientAndVariable>& pairs) {
  create_shared(graph, pairs.front().variable);
  for (const GradientAndVariable& pair : pairs) create_slots(pair.variable);
}

Operation Optimizer::all_gradients(Graph& graph, const std::vector<GradientAndVariable>& pairs) {
  std::vector<Operation> operations;
  for (const GradientAndVariable& pair : pairs) operations.push_back(pair.gradient.operation());
  return group(graph, std::move(operations), "gradients");
}

Operation Optimizer::step_after(Graph& graph, const std::vector<Operation>& updates, const Variable& step,
                                const std::string& whole) {
  const Operation updated = group(graph, updates, "update");
  const Graph::Scope after = graph.control_dependencies({updated});
  return assign_add(step, 1, whole).operation();
}

GradientDescentOptimizer::GradientDescentOptimizer(const GradientDescentOptions& options)
    : Optimizer(options.name), rate_(options.learning_rate) {
  require_not_negative(options.name, "learning_rate", rate_);
}

void GradientDescentOptimizer::prepare(Graph& graph) {
  rate_node_ = detail::hyper_parameter(graph, rate_, "learning_rate");
}

Operation GradientDescentOptimizer::apply(Output gradient, const Variable& variable) {
  return detail::apply_gradient_descent(variable, {}, {rate_node_, gradient});
}

MomentumOptimizer::MomentumOptimizer(const MomentumOptions& options) : Optimizer(options.name), options_(options) {
  require_not_negative(options.name, "learning_rate", options.learning_rate);
  require_not_negative(options.name, "momentum", options.momentum);
}

void MomentumOptimizer::create_slots(const Variable& variable) { add_slot(variable, "momentum", zeros_initializer()); }

void MomentumOptimizer::prepare(Graph& graph) {
  rate_ = detail::hyper_parameter(graph, options_.learning_rate, "learning_rate");
  momentum_ = detail::hyper_parameter(graph, options_.momentum, "momentum");
}

Operation MomentumOptimizer::apply(Output gradient, const Variable& variable) {
  return detail::apply_momentum(variable, {slot_ref(variable, "momentum")}, {rate_, gradient, momentum_},
                                {{"use_nesterov", options_.use_nesterov}});
}

AdagradOptimizer::AdagradOptimizer(const AdagradOptions& options) : Optimizer(options.name), options_(options) {
  require_not_negative(options.name, "learning_rate", options.learning_rate);
  demand(
      options.name, "initial_accumulator_value", options.initial_accumulator_value,
      [](double value) { return value > 0; }, "positive");
}

void AdagradOptimizer::create_slots(const Variable& variable) {
  add_slot(variable, "accumulator", constant_initializer(options_.initial_accumulator_value));
}

void AdagradOptimizer::prepare(Graph& graph) {
  rate_ = detail::hyper_parameter(graph, options_.learning_rate, "learning_rate");
}

Operation AdagradOptimizer::apply(Output gradient, const Variable& variable) {
  return detail::apply_adagrad(variable, {slot_ref(variable, "accumulator")}, {rate_, gradient},
                               {{"update_slots", true}});
}

RMSPropOptimizer::RMSPropOptimizer(const RMSPropOptions& options) : Optimizer(options.name), options_(options) {
  require_not_negative(options.name, "learning_rate", options.learning_rate);
  require_fraction(options.name, "decay", options.decay);
  require_not_negative(options.name, "momentum", options.momentum);
  require_not_negative(options.name, "epsilon", options.epsilon);
}

void RMSPropOptimizer::create_slots(const Variable& variable) {
  add_slot(variable, "rms", ones_initializer());
  if (options_.centered) add_slot(variable, "mg", zeros_initializer());
  add_slot(variable, "momentum", zeros_initializer());
}

void RMSPropOptimizer::prepare(Graph& graph) {
  numbers_ = {detail::hyper_parameter(graph, options_.learning_rate, "learning_rate"),
              detail::hyper_parameter(graph, options_.decay, "decay"),
              detail::hyper_parameter(graph, options_.momentum, "momentum"),
              detail::hyper_parameter(graph, options_.epsilon, "epsilon")};
}

Operation RMSPropOptimizer::apply(Output gradient, const Variable& variable) {
  std::vector<Output> numbers = numbers_;
  numbers.push_back(gradient);
  const Output rms = slot_ref(variable, "rms");
  const Output moment = slot_ref(variable, "momentum");
  if (!options_.centered) return detail::apply_rms_prop(variable, {rms, moment}, numbers);
  return detail::apply_centered_rms_prop(variable, {slot_ref(variable, "mg"), rms, moment}, numbers);
}

AdamOptimizer::AdamOptimizer(const AdamOptions& options) : Optimizer(options.name), options_(options) {
  require_not_negative(options.name, "learning_rate", options.learning_rate);
  require_fraction(options.name, "beta1", options.beta1);
  require_fraction(options.name, "beta2", options.beta2);
  require_not_negative(options.name, "epsilon", options.epsilon);
}

void AdamOptimizer::create_shared(Graph& graph, const Variable&) {
  if (!powers_.empty()) return;
  powers_.push_back(power_variable(graph, "beta1_power", options_.beta1));
  powers_.push_back(power_variable(graph, "beta2_power", options_.beta2));
}

void AdamOptimizer::create_slots(const Variable& variable) {
  add_slot(variable, "m", zeros_initializer());
  add_slot(variable, "v", zeros_initializer());
}

void AdamOptimizer::prepare(Graph& graph) {
  rate_ = detail::hyper_parameter(graph, options_.learning_rate, "learning_rate");
  beta1_ = detail::hyper_parameter(graph, options_.beta1, "beta1");
  beta2_ = detail::hyper_parameter(graph, options_.beta2, "beta2");
  epsilon_ = detail::hyper_parameter(graph, options_.epsilon, "epsilon");
}

Operation AdamOptimizer::apply(Output gradient, const Variable& variable) {
  return detail::apply_adam(variable, {slot_ref(variable, "m"), slot_ref(variable, "v")},
                            {powers_[0], powers_[1], rate_, beta1_, beta2_, epsilon_, gradient},
                            {{"use_nesterov", false}});
}

void AdamOptimizer::finish(Graph& graph, std::vector<Operation>& updates) {
  const Graph::Scope after = graph.control_dependencies(updates);
  updates.push_back(assign(powers_[0], multiply(powers_[0], beta1_)).operation());
  updates.push_back(assign(powers_[1], multiply(powers_[1], beta2_)).operation());
}

Variable AdamOptimizer::power_variable(Graph& graph, std::string_view name, const Operand& beta) {
  if (!beta.is_number())
    throw InvalidArgumentError("Adam: {} cannot start from a tensor; give the betas as numbers", name);
  const std::string full = graph.current_scope() + std::string(name);
  const Graph::Scope top_level = graph.top_level();
  return make_variable(full, constant(graph, Tensor(static_cast<float>(beta.number())), full + "/initial_value"),
                       {.trainable = false});
}

}  // namespace trainhook
