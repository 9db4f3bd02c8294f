// SPDX-License-Identifier: Apache-2.0
/// @file
/// Whether nodes that are added without the definition of their op type are as it would have made them.
#pragma once

#include <cstddef>
#include <string>

#include <fmt/format.h>

#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_def.hpp>
#include <trainhook/model/ops/registry.hpp>

namespace trainhook::support {

/// The nodes of a graph whose attributes or outputs are not those of their definition; empty if there are none.
inline std::string nodes_unlike_their_definition(const Graph& graph) {
  std::string result;
  for (const Node& node : graph.nodes()) {
    NodeSpec spec{.type = node.type(), .name = node.name(), .attrs = node.attrs()};
    spec.inputs.assign(node.inputs().begin(), node.inputs().end());
    if (const OpDef* def = find_op_def(node.type())) detail::complete(spec, *def);
    bool is_equal = spec.attrs == node.attrs() && spec.outputs.size() == node.outputs().size();
    for (std::size_t i = 0; is_equal && i < spec.outputs.size(); ++i) {
      is_equal = spec.outputs[i].dtype == node.outputs()[i].dtype && spec.outputs[i].shape == node.outputs()[i].shape;
    }
    if (!is_equal) result += fmt::format(" {} ({})", node.name(), node.type());
  }
  return result;
}

}  // namespace trainhook::support
