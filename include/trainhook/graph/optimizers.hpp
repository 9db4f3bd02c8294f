// SPDX-License-Identifier: Apache-2.0
/// @file
/// The optimizers: gradient descent, momentum, Adagrad, RMSProp, Adam.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/operand.hpp>
#include <trainhook/graph/optimizer.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook {
namespace detail {

inline constexpr double kNotGiven = std::numeric_limits<double>::quiet_NaN();

}  // namespace detail

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
  bool centered = false;  ///< divide by the variance of the gradient instead of its mean square; costs another slot
  std::string name = "RMSProp";
};
/// Slots `rms`, from ones, `mg` where it is centered, and `momentum`. Source: `tf.compat.v1.train.RMSPropOptimizer`.
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
#include <trainhook/graph/impl/optimizers.ipp>
#endif
