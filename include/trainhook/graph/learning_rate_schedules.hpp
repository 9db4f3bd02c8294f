// SPDX-License-Identifier: Apache-2.0
/// @file
/// Learning rates that follow the global step.
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
  bool staircase = false;  ///< whether the rate changes only at whole multiples of decay_steps
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
/// From `learning_rate` down to the end rate after decay_steps, and constant from there. Source:
/// `tf.compat.v1.train.polynomial_decay`.
TRAINHOOK_DECL Output polynomial_decay(double learning_rate, Output global_step, const PolynomialDecayOptions& options,
                                       std::string_view name = "PolynomialDecay");

/// Half a cosine from `learning_rate` down to `alpha` times it. Source: `tf.compat.v1.train.cosine_decay`.
TRAINHOOK_DECL Output cosine_decay(double learning_rate, Output global_step, double decay_steps, double alpha = 0,
                                   std::string_view name = "CosineDecay");

/// `values[i]` up to and including step `boundaries[i]`, the last one after that. Source:
/// `tf.compat.v1.train.piecewise_constant`.
/// @throws InvalidArgumentError unless boundaries rise and there is one value more.
TRAINHOOK_DECL Output piecewise_constant(Output global_step, const std::vector<std::int64_t>& boundaries,
                                         const std::vector<double>& values,
                                         std::string_view name = "PiecewiseConstant");

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/learning_rate_schedules.ipp>
#endif
