// SPDX-License-Identifier: Apache-2.0
/// @file
/// Whether nodes that are added without the definition of their op type are as it would have made them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <trainhook/core/function_ref.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_def.hpp>
#include <trainhook/graph/ops/cast.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/restore.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/graph/ops/summary.hpp>

namespace trainhook::support {

/// The definition of an op that sessions and hooks add themselves; null for others.
inline const OpDef* core_op_def(std::string_view type) {
  using namespace trainhook::detail;
  for (const OpFamily family :
       {cast_ops(), constant_ops(), control_flow_ops(), restore_ops(), state_ops(), summary::detail::summary_ops()}) {
    const auto found = std::ranges::find(family, type, &OpDef::type);
    if (found != family.end()) return *found;
  }
  return nullptr;
}

/// The nodes of a graph whose attributes or outputs are not those of their definition; empty if there are none.
inline std::string nodes_unlike_their_definition(
    const Graph& graph,
    FunctionRef<const OpDef*(std::string_view)> find = [](std::string_view type) { return core_op_def(type); }) {
  std::string result;
  for (const Node& node : graph.nodes()) {
    NodeSpec spec{.type = node.type(), .name = node.name(), .attrs = node.attrs()};
    spec.inputs.assign(node.inputs().begin(), node.inputs().end());
    if (const OpDef* def = find(node.type())) trainhook::detail::complete(spec, *def);
    bool is_equal = spec.attrs == node.attrs() && spec.outputs.size() == node.outputs().size();
    for (std::size_t i = 0; is_equal && i < spec.outputs.size(); ++i) {
      is_equal = spec.outputs[i].dtype == node.outputs()[i].dtype && spec.outputs[i].shape == node.outputs()[i].shape;
    }
    if (!is_equal) result += fmt::format(" {} ({})", node.name(), node.type());
  }
  return result;
}

}  // namespace trainhook::support
