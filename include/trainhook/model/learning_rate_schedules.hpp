// SPDX-License-Identifier: Apache-2.0
/// @file
/// Learning rates that depend on the global step.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook {

struct DecayOptions {
  double decay_steps = 0;
  double decay_rate = 0;
  bool staircase = false;  ///< the rate changes only at multiples of decay_steps
};

/// `learning_rate * decay_rate ^ (step / decay_steps)`. Source: `tf.compat.v1.train.exponential_decay`.
TRAINHOOK_DECL Output exponential_decay(double learning_rate, Output global_step, const DecayOptions& options,
                                        std::string_view name = "ExponentialDecay");

/// `learning_rate / (1 + decay_rate * step / decay_steps)`. Source: `tf.compat.v1.train.inverse_time_decay`.
TRAINHOOK_DECL Output inverse_time_decay(double learning_rate, Output global_step, const DecayOptions& options,
                                         std::string_view name = "InverseTimeDecay");

struct PolynomialDecayOptions {
  double decay_steps = 0;
  double end_learning_rate = 0.0001;
  double power = 1;
};
/// Falls from `learning_rate` to the end rate within decay_steps, then stays constant. Source:
/// `tf.compat.v1.train.polynomial_decay`.
TRAINHOOK_DECL Output polynomial_decay(double learning_rate, Output global_step, const PolynomialDecayOptions& options,
                                       std::string_view name = "PolynomialDecay");

/// Falls from `learning_rate` to `alpha * learning_rate` along half a cosine. Source:
/// `tf.compat.v1.train.cosine_decay`.
TRAINHOOK_DECL Output cosine_decay(double learning_rate, Output global_step, double decay_steps, double alpha = 0,
                                   std::string_view name = "CosineDecay");

/// `values[i]` up to and including step `boundaries[i]`, the last value after that. Source:
/// `tf.compat.v1.train.piecewise_constant`.
/// @throws InvalidArgumentError unless the boundaries increase and there is one more value than boundaries.
TRAINHOOK_DECL Output piecewise_constant(Output global_step, const std::vector<std::int64_t>& boundaries,
                                         const std::vector<double>& values,
                                         std::string_view name = "PiecewiseConstant");

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/impl/learning_rate_schedules.ipp>
#endif
