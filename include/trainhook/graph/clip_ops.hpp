// SPDX-License-Identifier: Apache-2.0
/// @file
/// Norms over several tensors and clipping by them, for gradients that grow too large.
#pragma once

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/graph/nn_ops.hpp>

namespace trainhook {

/// The square root of the sum of all squares; tensors without value are left out. Source: `tf.linalg.global_norm`.
inline Output global_norm(const std::vector<Output>& tensors, std::string_view name = "global_norm") {
  std::vector<Output> given;
  std::ranges::copy_if(tensors, std::back_inserter(given), [](const Output& tensor) { return tensor.has_value(); });
  if (given.empty()) throw InvalidArgumentError(name, " needs at least one tensor");
  Graph& graph = given.front().graph();
  const Graph::Scope scope = graph.name_scope(name);
  const std::string whole = graph.current_scope();
  std::vector<Output> halves;
  for (const Output& tensor : given) halves.push_back(l2_loss(tensor));
  return sqrt(reduce_sum(stack(halves)) * 2.0, whole);
}

struct ClippedByNorm {
  std::vector<Output> tensors{};  ///< in the order given, without value where none was given
  Output norm{};                  ///< before clipping
};

/// All `tensors` scaled by one factor so that their global norm is at most `clip_norm`; NaN where the norm is not finite.
/// Source: `tf.clip_by_global_norm`.
inline ClippedByNorm clip_by_global_norm(const std::vector<Output>& tensors, double clip_norm,
                                         std::string_view name = "clip_by_global_norm") {
  if (!(clip_norm > 0)) throw InvalidArgumentError(name, ": clip_norm ", clip_norm, " must be positive");
  ClippedByNorm result{.norm = global_norm(tensors)};
  const Output& norm = result.norm;
  const Graph::Scope scope = norm.graph().name_scope(name);
  const Output factor = clip_norm * minimum(1 / norm, 1 / clip_norm);
  const Output scale = where(is_finite(norm), factor, std::numeric_limits<double>::quiet_NaN());
  for (const Output& tensor : tensors) result.tensors.push_back(tensor.has_value() ? mul(tensor, scale) : Output());
  return result;
}

}  // namespace trainhook
