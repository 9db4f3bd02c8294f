// SPDX-License-Identifier: Apache-2.0
/// @file
/// Learning rates that follow the global step.
#pragma once

#include <cstdint>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/graph/math_ops.hpp>
#include <trainhook/graph/slice_ops.hpp>

namespace trainhook {
namespace detail {

inline void require_decay_steps(std::string_view schedule, double decay_steps) {
  if (!(decay_steps > 0)) throw InvalidArgumentError(schedule, ": decay_steps ", decay_steps, " must be positive");
}

/// The step as float32, divided by the number of steps.
inline Output step_fraction(std::string_view schedule, const Output& global_step, double decay_steps) {
  graph_of(schedule, global_step);
  require_decay_steps(schedule, decay_steps);
  return cast(global_step, DType::Float) / decay_steps;
}

}  // namespace detail

struct DecayOptions {
  double decay_steps = 0;
  double decay_rate = 0;
  bool staircase = false;  ///< whether the rate changes only at whole multiples of decay_steps
};

/// `learning_rate * decay_rate ^ (step / decay_steps)`. Source: `tf.compat.v1.train.exponential_decay`.
inline Output exponential_decay(double learning_rate, Output global_step, const DecayOptions& options,
                                std::string_view name = "ExponentialDecay") {
  const Graph::Scope scope = detail::graph_of(name, global_step).name_scope(name);
  Output fraction = detail::step_fraction(name, global_step, options.decay_steps);
  if (options.staircase) fraction = floor(fraction);
  return learning_rate * pow(options.decay_rate, fraction);
}

/// `learning_rate / (1 + decay_rate * step / decay_steps)`. Source: `tf.compat.v1.train.inverse_time_decay`.
inline Output inverse_time_decay(double learning_rate, Output global_step, const DecayOptions& options,
                                 std::string_view name = "InverseTimeDecay") {
  const Graph::Scope scope = detail::graph_of(name, global_step).name_scope(name);
  Output fraction = detail::step_fraction(name, global_step, options.decay_steps);
  if (options.staircase) fraction = floor(fraction);
  return learning_rate / (1 + options.decay_rate * fraction);
}

struct PolynomialDecayOptions {
  double decay_steps = 0;
  double end_learning_rate = 0.0001;
  double power = 1;
};
/// From `learning_rate` down to the end rate after decay_steps, and constant from there. Source: `tf.compat.v1.train.polynomial_decay`.
inline Output polynomial_decay(double learning_rate, Output global_step, const PolynomialDecayOptions& options,
                               std::string_view name = "PolynomialDecay") {
  const Graph::Scope scope = detail::graph_of(name, global_step).name_scope(name);
  const Output fraction = detail::step_fraction(name, global_step, options.decay_steps);
  const Output left = 1 - minimum(fraction, 1);
  return (learning_rate - options.end_learning_rate) * pow(left, options.power) + options.end_learning_rate;
}

/// Half a cosine from `learning_rate` down to `alpha` times it. Source: `tf.compat.v1.train.cosine_decay`.
inline Output cosine_decay(double learning_rate, Output global_step, double decay_steps, double alpha = 0,
                           std::string_view name = "CosineDecay") {
  const Graph::Scope scope = detail::graph_of(name, global_step).name_scope(name);
  const Output fraction = detail::step_fraction(name, global_step, decay_steps);
  const Output wave = 0.5 * (1 + cos(std::numbers::pi * minimum(fraction, 1)));
  return learning_rate * ((1 - alpha) * wave + alpha);
}

/// `values[i]` up to and including step `boundaries[i]`, the last one after that. Source: `tf.compat.v1.train.piecewise_constant`.
/// @throws InvalidArgumentError unless boundaries rise and there is one value more.
inline Output piecewise_constant(Output global_step, const std::vector<std::int64_t>& boundaries, const std::vector<double>& values,
                                 std::string_view name = "PiecewiseConstant") {
  Graph& graph = detail::graph_of(name, global_step);
  detail::require_index(name, global_step);
  if (values.size() != boundaries.size() + 1) {
    throw InvalidArgumentError(name, ": ", boundaries.size(), " boundaries need one value more, not ", values.size());
  }
  const Graph::Scope scope = graph.name_scope(name);
  Output result = constant(graph, Tensor(static_cast<float>(values.back())));
  for (std::size_t i = boundaries.size(); i-- > 0;) {
    if (i > 0 && boundaries[i - 1] >= boundaries[i]) {
      throw InvalidArgumentError(name, ": boundary ", boundaries[i], " does not rise above ", boundaries[i - 1]);
    }
    const Output is_before = less_equal(global_step, boundaries[i]);
    result = where(is_before, values[i], result);
  }
  return result;
}

}  // namespace trainhook
