// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/learning_rate_schedules.hpp>

#include <cstddef>
#include <numbers>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/operand.hpp>
#include <trainhook/graph/ops/cast.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/ops/array.hpp>
#include <trainhook/model/ops/math.hpp>
#include <trainhook/model/ops/slice.hpp>

namespace trainhook::detail {

inline void require_decay_steps(std::string_view schedule, double decay_steps) {
  if (!(decay_steps > 0)) throw InvalidArgumentError("{}: decay_steps {} must be positive", schedule, decay_steps);
}

/// The step as float32, divided by the number of steps.
inline Output step_fraction(std::string_view schedule, const Output& global_step, double decay_steps) {
  graph_of(schedule, global_step);
  require_decay_steps(schedule, decay_steps);
  return cast(global_step, DType::Float) / decay_steps;
}

}  // namespace trainhook::detail

namespace trainhook {

Output exponential_decay(double learning_rate, Output global_step, const DecayOptions& options, std::string_view name) {
  const Graph::Scope scope = detail::graph_of(name, global_step).name_scope(name);
  Output fraction = detail::step_fraction(name, global_step, options.decay_steps);
  if (options.staircase) fraction = floor(fraction);
  return learning_rate * pow(options.decay_rate, fraction);
}

Output inverse_time_decay(double learning_rate, Output global_step, const DecayOptions& options,
                          std::string_view name) {
  const Graph::Scope scope = detail::graph_of(name, global_step).name_scope(name);
  Output fraction = detail::step_fraction(name, global_step, options.decay_steps);
  if (options.staircase) fraction = floor(fraction);
  return learning_rate / (1 + options.decay_rate * fraction);
}

Output polynomial_decay(double learning_rate, Output global_step, const PolynomialDecayOptions& options,
                        std::string_view name) {
  const Graph::Scope scope = detail::graph_of(name, global_step).name_scope(name);
  const Output fraction = detail::step_fraction(name, global_step, options.decay_steps);
  const Output left = 1 - minimum(fraction, 1);
  return (learning_rate - options.end_learning_rate) * pow(left, options.power) + options.end_learning_rate;
}

Output cosine_decay(double learning_rate, Output global_step, double decay_steps, double alpha, std::string_view name) {
  const Graph::Scope scope = detail::graph_of(name, global_step).name_scope(name);
  const Output fraction = detail::step_fraction(name, global_step, decay_steps);
  const Output wave = 0.5 * (1 + cos(std::numbers::pi * minimum(fraction, 1)));
  return learning_rate * ((1 - alpha) * wave + alpha);
}

Output piecewise_constant(Output global_step, const std::vector<std::int64_t>& boundaries,
                          const std::vector<double>& values, std::string_view name) {
  Graph& graph = detail::graph_of(name, global_step);
  detail::graph_of(name, global_step);
  const bool is_integer = global_step.dtype() == DType::Int32 || global_step.dtype() == DType::Int64;
  detail::require_dtype(name, global_step, is_integer, "int32 or int64");
  if (values.size() != boundaries.size() + 1) {
    throw InvalidArgumentError("{}: {} boundaries need one value more, not {}", name, boundaries.size(), values.size());
  }
  const Graph::Scope scope = graph.name_scope(name);
  Output result = constant(graph, Tensor(static_cast<float>(values.back())));
  for (std::size_t i = boundaries.size(); i-- > 0;) {
    if (i > 0 && boundaries[i - 1] >= boundaries[i]) {
      throw InvalidArgumentError("{}: boundary {} does not rise above {}", name, boundaries[i], boundaries[i - 1]);
    }
    const Output is_before = less_equal(global_step, boundaries[i]);
    result = where(is_before, values[i], result);
  }
  return result;
}

}  // namespace trainhook
