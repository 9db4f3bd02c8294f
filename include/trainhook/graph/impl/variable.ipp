// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of variable.hpp.
#pragma once

#include <trainhook/graph/variable.hpp>

namespace trainhook {

TRAINHOOK_DECL Output Variable::ref() const { return Output(&handle.node(), 0); }

TRAINHOOK_DECL std::vector<Variable> global_variables(const Graph& graph) {
  return graph.collection<Variable>(graph_keys::kGlobalVariables);
}

TRAINHOOK_DECL std::vector<Variable> local_variables(const Graph& graph) {
  return graph.collection<Variable>(graph_keys::kLocalVariables);
}

TRAINHOOK_DECL std::vector<Variable> trainable_variables(const Graph& graph) {
  return graph.collection<Variable>(graph_keys::kTrainableVariables);
}

}  // namespace trainhook
