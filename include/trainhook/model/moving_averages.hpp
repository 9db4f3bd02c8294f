// SPDX-License-Identifier: Apache-2.0
/// @file
/// ExponentialMovingAverage: moving averages of variables, for evaluation.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook {

struct MovingAverageOptions {
  double decay = 0.999;
  /// An integer scalar, such as the global step after the training step; a small one reduces the decay.
  std::optional<Output> num_updates{};
  std::string name = "ExponentialMovingAverage";
};

/// Keeps `average = decay * average + (1 - decay) * variable` for each variable, in
/// `<variable>/ExponentialMovingAverage`. Source: `tf.train.ExponentialMovingAverage`, without zero_debias.
class ExponentialMovingAverage {
 public:
  TRAINHOOK_DECL explicit ExponentialMovingAverage(MovingAverageOptions options = MovingAverageOptions());

  /// Adds the operation that updates all averages; run it after the training step. Averages start from the initial
  /// values.
  /// @throws InvalidArgumentError for a variable that has an average already, no initial value, or no floating dtype.
  TRAINHOOK_DECL Operation apply(const std::vector<Variable>& variables);

  /// The variable with the average, or nothing.
  [[nodiscard]] TRAINHOOK_DECL std::optional<Variable> average(const Variable& variable) const;
  [[nodiscard]] TRAINHOOK_DECL std::string average_name(const Variable& variable) const;

 private:
  TRAINHOOK_DECL void add_average(Graph& graph, const Variable& variable);

  /// One minus the decay.
  [[nodiscard]] TRAINHOOK_DECL Output forgetting(Graph& graph) const;

  MovingAverageOptions options_;
  std::map<const Node*, Variable> averages_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/impl/moving_averages.ipp>
#endif
