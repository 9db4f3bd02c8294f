// SPDX-License-Identifier: Apache-2.0
/// @file
/// The optimizers: gradient descent, momentum, Adagrad, RMSProp, Adam.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/graph/optimizer.hpp>

namespace trainhook {
namespace detail {

/// An update op such as ApplyAdam: first the variables it changes, then numbers, cast to the dtype of the variable.
inline Operation apply_op(std::string_view type, const Variable& variable, std::vector<Output> refs, const std::vector<Output>& numbers,
                          Attrs attrs) {
  std::vector<Output> inputs{variable.ref()};
  inputs.insert(inputs.end(), refs.begin(), refs.end());
  for (const Output& number : numbers) inputs.push_back(cast(number, variable.dtype()));
  attrs.emplace("T", variable.dtype());
  attrs.emplace("use_locking", false);
  return add_op(variable.handle.graph(), type, {}, std::move(inputs), std::move(attrs), variable.dtype(), variable.shape()).operation();
}

inline constexpr double kNotGiven = std::numeric_limits<double>::quiet_NaN();

}  // namespace detail

struct GradientDescentOptions {
  Operand learning_rate = detail::kNotGiven;
  std::string name = "GradientDescent";
};
/// `w -= learning_rate * g`. Source: `tf.compat.v1.train.GradientDescentOptimizer`.
class GradientDescentOptimizer final : public Optimizer {
 public:
  explicit GradientDescentOptimizer(const GradientDescentOptions& options) : Optimizer(options.name), rate_(options.learning_rate) {
    require_not_negative(options.name, "learning_rate", rate_);
  }

 private:
  void prepare(Graph& graph) override { rate_node_ = detail::hyper_parameter(graph, rate_, "learning_rate"); }
  Operation apply(Output gradient, const Variable& variable) override {
    return detail::apply_op("ApplyGradientDescent", variable, {}, {rate_node_, gradient}, {});
  }

  Operand rate_;
  Output rate_node_{};
};

struct MomentumOptions {
  Operand learning_rate = detail::kNotGiven;
  Operand momentum = detail::kNotGiven;
  bool use_nesterov = false;
  std::string name = "Momentum";
};
/// `a = momentum * a + g; w -= learning_rate * a`. Slot `momentum`. Source: `tf.compat.v1.train.MomentumOptimizer`.
class MomentumOptimizer final : public Optimizer {
 public:
  explicit MomentumOptimizer(const MomentumOptions& options) : Optimizer(options.name), options_(options) {
    require_not_negative(options.name, "learning_rate", options.learning_rate);
    require_not_negative(options.name, "momentum", options.momentum);
  }

 private:
  void create_slots(const Variable& variable) override { add_slot(variable, "momentum", zeros_initializer()); }
  void prepare(Graph& graph) override {
    rate_ = detail::hyper_parameter(graph, options_.learning_rate, "learning_rate");
    momentum_ = detail::hyper_parameter(graph, options_.momentum, "momentum");
  }
  Operation apply(Output gradient, const Variable& variable) override {
    return detail::apply_op("ApplyMomentum", variable, {slot_ref(variable, "momentum")}, {rate_, gradient, momentum_},
                            {{"use_nesterov", options_.use_nesterov}});
  }

  MomentumOptions options_;
  Output rate_{};
  Output momentum_{};
};

struct AdagradOptions {
  Operand learning_rate = detail::kNotGiven;
  double initial_accumulator_value = 0.1;
  std::string name = "Adagrad";
};
/// `a += g * g; w -= learning_rate * g / sqrt(a)`. Slot `accumulator`. Source: `tf.compat.v1.train.AdagradOptimizer`.
class AdagradOptimizer final : public Optimizer {
 public:
  explicit AdagradOptimizer(const AdagradOptions& options) : Optimizer(options.name), options_(options) {
    require_not_negative(options.name, "learning_rate", options.learning_rate);
    require(
        options.name, "initial_accumulator_value", options.initial_accumulator_value, [](double value) { return value > 0; }, "positive");
  }

 private:
  void create_slots(const Variable& variable) override {
    add_slot(variable, "accumulator", constant_initializer(options_.initial_accumulator_value));
  }
  void prepare(Graph& graph) override { rate_ = detail::hyper_parameter(graph, options_.learning_rate, "learning_rate"); }
  Operation apply(Output gradient, const Variable& variable) override {
    return detail::apply_op("ApplyAdagrad", variable, {slot_ref(variable, "accumulator")}, {rate_, gradient}, {{"update_slots", true}});
  }

  AdagradOptions options_;
  Output rate_{};
};

struct RMSPropOptions {
  Operand learning_rate = detail::kNotGiven;
  Operand decay = 0.9;
  Operand momentum = 0.0;
  Operand epsilon = 1e-10;
  bool centered = false;  ///< divide by the variance of the gradient instead of its mean square; costs another slot
  std::string name = "RMSProp";
};
/// Slots `rms`, from ones, `mg` where it is centered, and `momentum`. Source: `tf.compat.v1.train.RMSPropOptimizer`.
class RMSPropOptimizer final : public Optimizer {
 public:
  explicit RMSPropOptimizer(const RMSPropOptions& options) : Optimizer(options.name), options_(options) {
    require_not_negative(options.name, "learning_rate", options.learning_rate);
    require_fraction(options.name, "decay", options.decay);
    require_not_negative(options.name, "momentum", options.momentum);
    require_not_negative(options.name, "epsilon", options.epsilon);
  }

 private:
  void create_slots(const Variable& variable) override {
    add_slot(variable, "rms", ones_initializer());
    if (options_.centered) add_slot(variable, "mg", zeros_initializer());
    add_slot(variable, "momentum", zeros_initializer());
  }
  void prepare(Graph& graph) override {
    numbers_ = {detail::hyper_parameter(graph, options_.learning_rate, "learning_rate"),
                detail::hyper_parameter(graph, options_.decay, "decay"), detail::hyper_parameter(graph, options_.momentum, "momentum"),
                detail::hyper_parameter(graph, options_.epsilon, "epsilon")};
  }
  Operation apply(Output gradient, const Variable& variable) override {
    std::vector<Output> numbers = numbers_;
    numbers.push_back(gradient);
    const Output rms = slot_ref(variable, "rms");
    const Output moment = slot_ref(variable, "momentum");
    if (!options_.centered) return detail::apply_op("ApplyRMSProp", variable, {rms, moment}, numbers, {});
    return detail::apply_op("ApplyCenteredRMSProp", variable, {slot_ref(variable, "mg"), rms, moment}, numbers, {});
  }

  RMSPropOptions options_;
  std::vector<Output> numbers_;
};

struct AdamOptions {
  Operand learning_rate = 0.001;
  Operand beta1 = 0.9;
  Operand beta2 = 0.999;
  Operand epsilon = 1e-8;
  std::string name = "Adam";
};
/// Slots `m` and `v`, and the scalar variables `beta1_power`, `beta2_power`. Source: `tf.compat.v1.train.AdamOptimizer`; Kingma and Ba,
/// 2014.
class AdamOptimizer final : public Optimizer {
 public:
  AdamOptimizer() : AdamOptimizer(AdamOptions()) {}
  explicit AdamOptimizer(const AdamOptions& options) : Optimizer(options.name), options_(options) {
    require_not_negative(options.name, "learning_rate", options.learning_rate);
    require_fraction(options.name, "beta1", options.beta1);
    require_fraction(options.name, "beta2", options.beta2);
    require_not_negative(options.name, "epsilon", options.epsilon);
  }

 private:
  void create_shared(Graph& graph, const Variable&) override {
    if (!powers_.empty()) return;
    powers_.push_back(power_variable(graph, "beta1_power", options_.beta1));
    powers_.push_back(power_variable(graph, "beta2_power", options_.beta2));
  }
  void create_slots(const Variable& variable) override {
    add_slot(variable, "m", zeros_initializer());
    add_slot(variable, "v", zeros_initializer());
  }
  void prepare(Graph& graph) override {
    rate_ = detail::hyper_parameter(graph, options_.learning_rate, "learning_rate");
    beta1_ = detail::hyper_parameter(graph, options_.beta1, "beta1");
    beta2_ = detail::hyper_parameter(graph, options_.beta2, "beta2");
    epsilon_ = detail::hyper_parameter(graph, options_.epsilon, "epsilon");
  }
  Operation apply(Output gradient, const Variable& variable) override {
    return detail::apply_op("ApplyAdam", variable, {slot_ref(variable, "m"), slot_ref(variable, "v")},
                            {powers_[0], powers_[1], rate_, beta1_, beta2_, epsilon_, gradient}, {{"use_nesterov", false}});
  }
  void finish(Graph& graph, std::vector<Operation>& updates) override {
    const Graph::Scope after = graph.control_dependencies(updates);
    updates.push_back(assign(powers_[0], mul(powers_[0], beta1_)).operation());
    updates.push_back(assign(powers_[1], mul(powers_[1], beta2_)).operation());
  }

  static Variable power_variable(Graph& graph, std::string_view name, const Operand& beta) {
    if (!beta.is_number()) throw InvalidArgumentError("Adam: ", name, " cannot start from a tensor; give the betas as numbers");
    const std::string full = graph.current_scope() + std::string(name);
    const Graph::Scope top_level = graph.top_level();
    return make_variable(full, constant(graph, Tensor(static_cast<float>(beta.number())), full + "/initial_value"), {.trainable = false});
  }

  AdamOptions options_;
  std::vector<Variable> powers_;
  Output rate_{};
  Output beta1_{};
  Output beta2_{};
  Output epsilon_{};
};

}  // namespace trainhook
