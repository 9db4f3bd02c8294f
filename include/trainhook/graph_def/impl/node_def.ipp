// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of node_def.hpp.
#pragma once

#include <trainhook/graph_def/node_def.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <variant>

#include <trainhook/graph/graph.hpp>
#include <trainhook/graph_def/graph_def_messages.hpp>
#include <trainhook/graph_def/tensor_proto.hpp>

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

TRAINHOOK_DECL ListValueMessage list_message(const AttrValue& value) {
  ListValueMessage list;
  if (const auto* strings = std::get_if<std::vector<std::string>>(&value)) {
    list.s.assign(strings->begin(), strings->end());
  } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
    list.i = *integers;
  } else if (const auto* floats = std::get_if<std::vector<float>>(&value)) {
    list.f = *floats;
  } else if (const auto* dtypes = std::get_if<std::vector<DType>>(&value)) {
    for (const DType dtype : *dtypes) list.type.push_back(static_cast<std::uint64_t>(dtype));
  } else {
    for (const PartialShape& shape : std::get<std::vector<PartialShape>>(value))
      list.shape.push_back(shape_message(shape));
  }
  return list;
}

/// A chain of questions: a visitor is a function for each alternative.
TRAINHOOK_DECL std::string attr_value_bytes(const AttrValue& value) {
  AttrValueMessage message;
  std::string list;
  if (const auto* text = std::get_if<std::string>(&value)) {
    message.value = std::string_view(*text);
  } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    message.value = *integer;
  } else if (const auto* number = std::get_if<float>(&value)) {
    message.value = *number;
  } else if (const auto* truth = std::get_if<bool>(&value)) {
    message.value = *truth;
  } else if (const auto* dtype = std::get_if<DType>(&value)) {
    message.value = static_cast<std::uint64_t>(*dtype);
  } else if (const auto* shape = std::get_if<PartialShape>(&value)) {
    message.value = shape_message(*shape);
  } else if (const auto* tensor = std::get_if<Tensor>(&value)) {
    message.value = tensor_message(*tensor);
  } else {
    list = message_bytes(list_message(value));
    message.value = Serialized<ListValueMessage>(list);
  }
  return message_bytes(message);
}

TRAINHOOK_DECL void append_node(std::string& bytes, const NodeDef& node, bool add_shapes) {
  Attrs attrs = node.attrs;
  if (add_shapes && !node.output_shapes.empty()) attrs.insert_or_assign("_output_shapes", node.output_shapes);
  GraphMessage part;
  NodeMessage& message = part.node.emplace_back();
  message.name = node.name;
  message.op = node.op;
  message.input.assign(node.inputs.begin(), node.inputs.end());
  std::vector<std::string> values;  // to which the message points
  values.reserve(attrs.size());
  std::size_t room = bytes.size();
  for (const auto& [key, value] : attrs) {
    values.push_back(attr_value_bytes(value));
    message.attr.push_back({key, Serialized<AttrValueMessage>(values.back())});
    room += values.back().size() + key.size() + 64;
  }
  // At once, so that the string does not grow again when lengths are put into it.
  if (room > bytes.capacity()) bytes.reserve((std::max)(room, 2 * bytes.capacity()));
  append_message(bytes, part);
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
