// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of node_def.hpp.
#pragma once

#include <trainhook/graph_def/node_def.hpp>

#include <charconv>
#include <system_error>

#include <trainhook/graph/graph.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL std::optional<InputName> parse_input_name(std::string_view input) noexcept {
  if (input.starts_with('^')) return InputName{.node = input.substr(1), .is_control = true};
  const std::size_t colon = input.rfind(':');
  if (colon == std::string_view::npos) return InputName{.node = input};
  InputName name{.node = input.substr(0, colon)};
  const std::string_view digits = input.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), name.index);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return name;
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL NodeDef node_def_of(const Node& node) {
  NodeDef def{.name = node.name(), .op = node.type(), .attrs = node.attrs()};
  for (const Output& input : node.inputs()) def.inputs.push_back(detail::input_name(input));
  for (const Operation& input : node.control_inputs()) def.inputs.push_back("^" + input.name());
  for (const OutputSpec& output : node.outputs()) def.output_shapes.push_back(output.shape);
  return def;
}

}  // namespace trainhook
