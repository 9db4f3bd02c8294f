// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of node_def.hpp.
#pragma once

#include <trainhook/graph_def/node_def.hpp>

#include <trainhook/graph/graph.hpp>

namespace trainhook {

TRAINHOOK_DECL NodeDef node_def_of(const Node& node) {
  NodeDef def{.name = node.name(), .op = node.type(), .attrs = node.attrs()};
  for (const Output& input : node.inputs()) def.inputs.push_back(detail::input_name(input));
  for (const Operation& input : node.control_inputs()) def.inputs.push_back("^" + input.name());
  for (const OutputSpec& output : node.outputs()) def.output_shapes.push_back(output.shape);
  return def;
}

}  // namespace trainhook
