// SPDX-License-Identifier: Apache-2.0
/// @file
/// Optimizers, which add the training operation for a loss: gradient descent, momentum, Adagrad, RMSProp, Adam, and the
/// base class of your own.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/operand.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/model/gradients.hpp>
#include <trainhook/model/initializers.hpp>

namespace trainhook {
namespace detail {

inline constexpr double kNotGiven = std::numeric_limits<double>::quiet_NaN();

}  // namespace detail

/// A variable and its gradient, which is empty if the loss does not depend on the variable.
struct GradientAndVariable {
  Output gradient{};
  Variable variable{};
};

/// The base of all optimizers. Slot variables are named after their variable: `w/Adam`, `w/Adam_1`. Source:
/// `tf.compat.v1.train.Optimizer`.
class Optimizer {
 public:
  TRAINHOOK_DECL virtual ~Optimizer();

  /// Adds an operation that makes one training step and then, if `global_step` is given, adds one to it. Without a
  /// list, it trains all trainable variables of the graph.
  TRAINHOOK_DECL Operation minimize(Output loss, const std::optional<Variable>& global_step = std::nullopt,
                                    const std::vector<Variable>& var_list = {}, const GradientOptions& options = {});

  /// The first half of `minimize`. @throws InvalidArgumentError if there is no variable to train.
  [[nodiscard]] TRAINHOOK_DECL std::vector<GradientAndVariable> compute_gradients(
      Output loss, const std::vector<Variable>& var_list = {}, const GradientOptions& options = {}) const;

  /// The second half of `minimize`, for gradients that were changed in between, for example clipped.
  /// @throws InvalidArgumentError if no variable has a gradient, or a gradient does not fit its variable.
  TRAINHOOK_DECL Operation apply_gradients(const std::vector<GradientAndVariable>& all,
                                           const std::optional<Variable>& global_step = std::nullopt,
                                           std::string_view name = {});

  /// The slot of that name for a variable, such as Adam's `m` and `v`, or nothing.
  [[nodiscard]] TRAINHOOK_DECL std::optional<Variable> get_slot(const Variable& variable, std::string_view slot) const;
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 protected:
  explicit Optimizer(std::string name) : name_(std::move(name)) {}
  Optimizer(const Optimizer&) = default;
  Optimizer& operator=(const Optimizer&) = default;

  /// Adds the slots of one variable, with `add_slot`.
  virtual void create_slots(const Variable&) {}
  /// Adds variables that all updates share, outside of the optimizer's name scope. Receives the first variable.
  virtual void create_shared(Graph&, const Variable&) {}
  /// Adds the constants, inside the optimizer's name scope.
  virtual void prepare(Graph&) = 0;
  /// Adds the update of one variable.
  virtual Operation apply(Output gradient, const Variable& variable) = 0;
  /// Adds operations that run after all updates, and appends them to `updates`.
  virtual void finish(Graph&, std::vector<Operation>&) {}

  TRAINHOOK_DECL void add_slot(const Variable& variable, std::string_view slot, const Initializer& initializer);
  [[nodiscard]] Output slot_ref(const Variable& variable, std::string_view slot) const {
    return get_slot(variable, slot)->ref();
  }

  /// @throws InvalidArgumentError if a number breaks a rule; a tensor's value is not checked.
  TRAINHOOK_DECL static void demand(std::string_view optimizer, std::string_view option, const Operand& value,
                                    bool (*holds)(double), std::string_view rule);
  TRAINHOOK_DECL static void require_not_negative(std::string_view optimizer, std::string_view option,
                                                  const Operand& value);
  TRAINHOOK_DECL static void require_fraction(std::string_view optimizer, std::string_view option,
                                              const Operand& value);

 private:
  [[nodiscard]] TRAINHOOK_DECL GradientAndVariable checked(const GradientAndVariable& pair) const;
  TRAINHOOK_DECL void create_variables(Graph& graph, const std::vector<GradientAndVariable>& pairs);

  /// An operation that waits for all gradients, so that no update changes a variable that another gradient still reads.
  TRAINHOOK_DECL static Operation all_gradients(Graph& graph, const std::vector<GradientAndVariable>& pairs);

  TRAINHOOK_DECL static Operation step_after(Graph& graph, const std::vector<Operation>& updates, const Variable& step,
                                             const std::string& whole);

  std::string name_;
  std::map<std::pair<const Node*, std::string>, Variable> slots_;
};

struct GradientDescentOptions {
  Operand learning_rate = detail::kNotGiven;
  std::string name = "GradientDescent";
};
/// `w -= learning_rate * g`. Source: `tf.compat.v1.train.GradientDescentOptimizer`.
class GradientDescentOptimizer final : public Optimizer {
 public:
  TRAINHOOK_DECL explicit GradientDescentOptimizer(const GradientDescentOptions& options);

 private:
  TRAINHOOK_DECL void prepare(Graph& graph) override;
  TRAINHOOK_DECL Operation apply(Output gradient, const Variable& variable) override;

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
  TRAINHOOK_DECL explicit MomentumOptimizer(const MomentumOptions& options);

 private:
  TRAINHOOK_DECL void create_slots(const Variable& variable) override;
  TRAINHOOK_DECL void prepare(Graph& graph) override;
  TRAINHOOK_DECL Operation apply(Output gradient, const Variable& variable) override;

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
  TRAINHOOK_DECL explicit AdagradOptimizer(const AdagradOptions& options);

 private:
  TRAINHOOK_DECL void create_slots(const Variable& variable) override;
  TRAINHOOK_DECL void prepare(Graph& graph) override;
  TRAINHOOK_DECL Operation apply(Output gradient, const Variable& variable) override;

  AdagradOptions options_;
  Output rate_{};
};

struct RMSPropOptions {
  Operand learning_rate = detail::kNotGiven;
  Operand decay = 0.9;
  Operand momentum = 0.0;
  Operand epsilon = 1e-10;
  bool centered = false;  ///< divides by the gradient's variance instead of its mean square; needs another slot
  std::string name = "RMSProp";
};
/// Slots `rms`, initially ones, `mg` if `centered`, and `momentum`. Source: `tf.compat.v1.train.RMSPropOptimizer`.
class RMSPropOptimizer final : public Optimizer {
 public:
  TRAINHOOK_DECL explicit RMSPropOptimizer(const RMSPropOptions& options);

 private:
  TRAINHOOK_DECL void create_slots(const Variable& variable) override;
  TRAINHOOK_DECL void prepare(Graph& graph) override;
  TRAINHOOK_DECL Operation apply(Output gradient, const Variable& variable) override;

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
/// Slots `m` and `v`, and the scalar variables `beta1_power`, `beta2_power`. Source:
/// `tf.compat.v1.train.AdamOptimizer`; Kingma and Ba, 2014.
class AdamOptimizer final : public Optimizer {
 public:
  AdamOptimizer() : AdamOptimizer(AdamOptions()) {}
  TRAINHOOK_DECL explicit AdamOptimizer(const AdamOptions& options);

 private:
  TRAINHOOK_DECL void create_shared(Graph& graph, const Variable&) override;
  TRAINHOOK_DECL void create_slots(const Variable& variable) override;
  TRAINHOOK_DECL void prepare(Graph& graph) override;
  TRAINHOOK_DECL Operation apply(Output gradient, const Variable& variable) override;
  TRAINHOOK_DECL void finish(Graph& graph, std::vector<Operation>& updates) override;
  TRAINHOOK_DECL static Variable power_variable(Graph& graph, std::string_view name, const Operand& beta);

  AdamOptions options_;
  std::vector<Variable> powers_;
  Output rate_{};
  Output beta1_{};
  Output beta2_{};
  Output epsilon_{};
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/impl/optimizers.ipp>
#endif
