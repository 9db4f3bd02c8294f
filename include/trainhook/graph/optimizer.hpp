// SPDX-License-Identifier: Apache-2.0
/// @file
/// Optimizer: from a loss to the operation that makes one training step; what all optimizers share.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/gradients.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/initializers.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/operand.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook {

namespace detail {

/// A number that an optimizer needs as a scalar of the graph. Constants are float32, as TensorFlow has them whatever
/// the variables are.
TRAINHOOK_DECL Output hyper_parameter(Graph& graph, const Operand& value, std::string_view name);

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
  TRAINHOOK_DECL virtual ~Optimizer();

  /// An operation that makes one step downhill and, if it is given, adds one to the global step after all else.
  /// Without a list, all trainable variables of the graph are trained.
  TRAINHOOK_DECL Operation minimize(Output loss, const std::optional<Variable>& global_step = std::nullopt,
                                    const std::vector<Variable>& var_list = {}, const GradientOptions& options = {});

  /// The first half of `minimize`. @throws InvalidArgumentError where there is nothing to train.
  [[nodiscard]] TRAINHOOK_DECL std::vector<GradientAndVariable> compute_gradients(
      Output loss, const std::vector<Variable>& var_list = {}, const GradientOptions& options = {}) const;

  /// The second half of `minimize`, for gradients that were changed in between, clipped for example.
  /// @throws InvalidArgumentError where no variable has a gradient, or one does not fit its variable.
  TRAINHOOK_DECL Operation apply_gradients(const std::vector<GradientAndVariable>& all,
                                           const std::optional<Variable>& global_step = std::nullopt,
                                           std::string_view name = {});

  /// The slot variable of that name (`m` and `v` of Adam, for example) for a variable, or nothing.
  [[nodiscard]] TRAINHOOK_DECL std::optional<Variable> get_slot(const Variable& variable, std::string_view slot) const;
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

  TRAINHOOK_DECL void add_slot(const Variable& variable, std::string_view slot, const Initializer& initializer);
  [[nodiscard]] Output slot_ref(const Variable& variable, std::string_view slot) const {
    return get_slot(variable, slot)->ref();
  }

  /// Whether a number is what it may be; what a tensor holds is known only in a run. @throws InvalidArgumentError
  /// otherwise.
  TRAINHOOK_DECL static void require(std::string_view optimizer, std::string_view option, const Operand& value,
                                     bool (*holds)(double), std::string_view rule);
  TRAINHOOK_DECL static void require_not_negative(std::string_view optimizer, std::string_view option,
                                                  const Operand& value);
  TRAINHOOK_DECL static void require_fraction(std::string_view optimizer, std::string_view option,
                                              const Operand& value);

 private:
  [[nodiscard]] TRAINHOOK_DECL GradientAndVariable checked(const GradientAndVariable& pair) const;
  TRAINHOOK_DECL void create_variables(Graph& graph, const std::vector<GradientAndVariable>& pairs);

  /// No variable changes before all gradients are there: one is needed to compute others, and TensorFlow reads such
  /// variables in place.
  TRAINHOOK_DECL static Operation all_gradients(Graph& graph, const std::vector<GradientAndVariable>& pairs);

  TRAINHOOK_DECL static Operation step_after(Graph& graph, const std::vector<Operation>& updates, const Variable& step,
                                             const std::string& whole);

  std::string name_;
  std::map<std::pair<const Node*, std::string>, Variable> slots_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/optimizer.ipp>
#endif
