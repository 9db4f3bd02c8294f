// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/ops/clip.hpp>

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/operand.hpp>
#include <trainhook/model/ops/join.hpp>
#include <trainhook/model/ops/math.hpp>
#include <trainhook/model/ops/matrix.hpp>
#include <trainhook/model/ops/nn.hpp>
#include <trainhook/model/ops/slice.hpp>

namespace trainhook {

Output global_norm(const std::vector<Output>& tensors, std::string_view name) {
  std::vector<Output> given;
  std::ranges::copy_if(tensors, std::back_inserter(given), [](const Output& tensor) { return tensor.has_value(); });
  if (given.empty()) throw InvalidArgumentError("{} needs at least one tensor", name);
  Graph& graph = given.front().graph();
  const Graph::Scope scope = graph.name_scope(name);
  const std::string whole = graph.current_scope();
  std::vector<Output> halves;
  for (const Output& tensor : given) halves.push_back(l2_loss(tensor));
  return sqrt(reduce_sum(stack(halves)) * 2.0, whole);
}

ClippedByNorm clip_by_global_norm(const std::vector<Output>& tensors, double clip_norm, std::string_view name) {
  if (!(clip_norm > 0)) throw InvalidArgumentError("{}: clip_norm {} must be positive", name, clip_norm);
  ClippedByNorm result{.norm = global_norm(tensors)};
  const Output& norm = result.norm;
  const Graph::Scope scope = norm.graph().name_scope(name);
  const Output factor = clip_norm * minimum(1 / norm, 1 / clip_norm);
  const Output scale = where(is_finite(norm), factor, std::numeric_limits<double>::quiet_NaN());
  for (const Output& tensor : tensors)
    result.tensors.push_back(tensor.has_value() ? multiply(tensor, scale) : Output());
  return result;
}

}  // namespace trainhook
