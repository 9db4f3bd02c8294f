// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/graph/variable.hpp>

#include <cstddef>
#include <span>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/graph.hpp>

namespace trainhook {

std::string SaveSliceInfo::spec() const {
  std::string text;
  for (const std::int64_t extent : full_shape) text += fmt::format("{} ", extent);
  for (std::size_t i = 0; i < var_offset.size() && i < var_shape.size(); ++i)
    text += fmt::format("{}{},{}", i == 0 ? "" : ":", var_offset[i], var_shape[i]);
  return text;
}

void SaveSliceInfo::validate(std::string_view variable, const PartialShape& shape) const {
  bool fits = !full_name.empty() && var_offset.size() == full_shape.size() && shape.is_fully_known() &&
              shape.rank() == full_shape.size() && var_shape.size() == full_shape.size();
  for (std::size_t i = 0; fits && i < full_shape.size(); ++i) {
    if (var_offset[i] >= 0 && shape[i] > full_shape[i] - var_offset[i]) {
      throw InvalidArgumentError("variable '{}' of shape {} begins at {} in dimension {} of '{}', which has {} there",
                                 variable, shape, var_offset[i], i, full_name, full_shape[i]);
    }
    fits = var_shape[i] == shape[i] && var_shape[i] >= (is_own ? 0 : 1) && var_offset[i] >= 0 &&
           var_shape[i] <= full_shape[i] && var_offset[i] <= full_shape[i] - var_shape[i];
  }
  if (fits) {
    static_cast<void>(Shape(std::span<const std::int64_t>(full_shape)));  // throws if it is too large
  } else {
    throw InvalidArgumentError("variable '{}' of shape {} cannot be the region '{}' of a partitioned variable '{}'",
                               variable, shape, spec(), full_name);
  }
}

Output Variable::ref() const { return Output(&handle.node(), 0); }

void keep_initial(Graph& graph, std::string_view name) {
  const auto names = graph.collection<std::string>(detail::kKeptInitial);
  if (std::ranges::find(names, name) == names.end()) graph.add_to_collection(detail::kKeptInitial, std::string(name));
}

std::vector<Variable> global_variables(const Graph& graph) {
  return graph.collection<Variable>(graph_keys::kGlobalVariables);
}

std::vector<Variable> local_variables(const Graph& graph) {
  return graph.collection<Variable>(graph_keys::kLocalVariables);
}

std::vector<Variable> trainable_variables(const Graph& graph) {
  return graph.collection<Variable>(graph_keys::kTrainableVariables);
}

}  // namespace trainhook
