// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of optimizers.hpp.
#pragma once

#include <trainhook/graph/optimizers.hpp>

#include <utility>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/initializers.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/array.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/math.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/graph/ops/training.hpp>

namespace trainhook {

TRAINHOOK_DECL GradientDescentOptimizer::GradientDescentOptimizer(const GradientDescentOptions& options)
    : Optimizer(options.name), rate_(options.learning_rate) {
  require_not_negative(options.name, "learning_rate", rate_);
}

TRAINHOOK_DECL void GradientDescentOptimizer::prepare(Graph& graph) {
  rate_node_ = detail::hyper_parameter(graph, rate_, "learning_rate");
}

TRAINHOOK_DECL Operation GradientDescentOptimizer::apply(Output gradient, const Variable& variable) {
  return detail::apply_op("ApplyGradientDescent", variable, {}, {rate_node_, gradient}, {});
}

TRAINHOOK_DECL MomentumOptimizer::MomentumOptimizer(const MomentumOptions& options)
    : Optimizer(options.name), options_(options) {
  require_not_negative(options.name, "learning_rate", options.learning_rate);
  require_not_negative(options.name, "momentum", options.momentum);
}

TRAINHOOK_DECL void MomentumOptimizer::create_slots(const Variable& variable) {
  add_slot(variable, "momentum", zeros_initializer());
}

TRAINHOOK_DECL void MomentumOptimizer::prepare(Graph& graph) {
  rate_ = detail::hyper_parameter(graph, options_.learning_rate, "learning_rate");
  momentum_ = detail::hyper_parameter(graph, options_.momentum, "momentum");
}

TRAINHOOK_DECL Operation MomentumOptimizer::apply(Output gradient, const Variable& variable) {
  return detail::apply_op("ApplyMomentum", variable, {slot_ref(variable, "momentum")}, {rate_, gradient, momentum_},
                          {{"use_nesterov", options_.use_nesterov}});
}

TRAINHOOK_DECL AdagradOptimizer::AdagradOptimizer(const AdagradOptions& options)
    : Optimizer(options.name), options_(options) {
  require_not_negative(options.name, "learning_rate", options.learning_rate);
  require(
      options.name, "initial_accumulator_value", options.initial_accumulator_value,
      [](double value) { return value > 0; }, "positive");
}

TRAINHOOK_DECL void AdagradOptimizer::create_slots(const Variable& variable) {
  add_slot(variable, "accumulator", constant_initializer(options_.initial_accumulator_value));
}

TRAINHOOK_DECL void AdagradOptimizer::prepare(Graph& graph) {
  rate_ = detail::hyper_parameter(graph, options_.learning_rate, "learning_rate");
}

TRAINHOOK_DECL Operation AdagradOptimizer::apply(Output gradient, const Variable& variable) {
  return detail::apply_op("ApplyAdagrad", variable, {slot_ref(variable, "accumulator")}, {rate_, gradient},
                          {{"update_slots", true}});
}

TRAINHOOK_DECL RMSPropOptimizer::RMSPropOptimizer(const RMSPropOptions& options)
    : Optimizer(options.name), options_(options) {
  require_not_negative(options.name, "learning_rate", options.learning_rate);
  require_fraction(options.name, "decay", options.decay);
  require_not_negative(options.name, "momentum", options.momentum);
  require_not_negative(options.name, "epsilon", options.epsilon);
}

TRAINHOOK_DECL void RMSPropOptimizer::create_slots(const Variable& variable) {
  add_slot(variable, "rms", ones_initializer());
  if (options_.centered) add_slot(variable, "mg", zeros_initializer());
  add_slot(variable, "momentum", zeros_initializer());
}

TRAINHOOK_DECL void RMSPropOptimizer::prepare(Graph& graph) {
  numbers_ = {detail::hyper_parameter(graph, options_.learning_rate, "learning_rate"),
              detail::hyper_parameter(graph, options_.decay, "decay"),
              detail::hyper_parameter(graph, options_.momentum, "momentum"),
              detail::hyper_parameter(graph, options_.epsilon, "epsilon")};
}

TRAINHOOK_DECL Operation RMSPropOptimizer::apply(Output gradient, const Variable& variable) {
  std::vector<Output> numbers = numbers_;
  numbers.push_back(gradient);
  const Output rms = slot_ref(variable, "rms");
  const Output moment = slot_ref(variable, "momentum");
  if (!options_.centered) return detail::apply_op("ApplyRMSProp", variable, {rms, moment}, numbers, {});
  return detail::apply_op("ApplyCenteredRMSProp", variable, {slot_ref(variable, "mg"), rms, moment}, numbers, {});
}

TRAINHOOK_DECL AdamOptimizer::AdamOptimizer(const AdamOptions& options) : Optimizer(options.name), options_(options) {
  require_not_negative(options.name, "learning_rate", options.learning_rate);
  require_fraction(options.name, "beta1", options.beta1);
  require_fraction(options.name, "beta2", options.beta2);
  require_not_negative(options.name, "epsilon", options.epsilon);
}

TRAINHOOK_DECL void AdamOptimizer::create_shared(Graph& graph, const Variable&) {
  if (!powers_.empty()) return;
  powers_.push_back(power_variable(graph, "beta1_power", options_.beta1));
  powers_.push_back(power_variable(graph, "beta2_power", options_.beta2));
}

TRAINHOOK_DECL void AdamOptimizer::create_slots(const Variable& variable) {
  add_slot(variable, "m", zeros_initializer());
  add_slot(variable, "v", zeros_initializer());
}

TRAINHOOK_DECL void AdamOptimizer::prepare(Graph& graph) {
  rate_ = detail::hyper_parameter(graph, options_.learning_rate, "learning_rate");
  beta1_ = detail::hyper_parameter(graph, options_.beta1, "beta1");
  beta2_ = detail::hyper_parameter(graph, options_.beta2, "beta2");
  epsilon_ = detail::hyper_parameter(graph, options_.epsilon, "epsilon");
}

TRAINHOOK_DECL Operation AdamOptimizer::apply(Output gradient, const Variable& variable) {
  return detail::apply_op("ApplyAdam", variable, {slot_ref(variable, "m"), slot_ref(variable, "v")},
                          {powers_[0], powers_[1], rate_, beta1_, beta2_, epsilon_, gradient},
                          {{"use_nesterov", false}});
}

TRAINHOOK_DECL void AdamOptimizer::finish(Graph& graph, std::vector<Operation>& updates) {
  const Graph::Scope after = graph.control_dependencies(updates);
  updates.push_back(assign(powers_[0], multiply(powers_[0], beta1_)).operation());
  updates.push_back(assign(powers_[1], multiply(powers_[1], beta2_)).operation());
}

TRAINHOOK_DECL Variable AdamOptimizer::power_variable(Graph& graph, std::string_view name, const Operand& beta) {
  if (!beta.is_number())
    throw InvalidArgumentError("Adam: {} cannot start from a tensor; give the betas as numbers", name);
  const std::string full = graph.current_scope() + std::string(name);
  const Graph::Scope top_level = graph.top_level();
  return make_variable(full, constant(graph, Tensor(static_cast<float>(beta.number())), full + "/initial_value"),
                       {.trainable = false});
}

}  // namespace trainhook
