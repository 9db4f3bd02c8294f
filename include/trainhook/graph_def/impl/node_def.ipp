// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of node_def.hpp.
#pragma once

#include <trainhook/graph_def/node_def.hpp>

#include <charconv>
#include <cstdint>
#include <system_error>
#include <variant>

#include <trainhook/graph/graph.hpp>
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

TRAINHOOK_DECL void add_shape(WireWriter& writer, std::uint32_t tag, const PartialShape& shape) {
  add_wire_message(writer, tag, [&](WireWriter& message) { write_shape(message, shape); });
}

/// The members of AttrValue's message ListValue. A chain of questions: a visitor is a function for each alternative.
TRAINHOOK_DECL void write_list(WireWriter& list, const AttrValue& value) {
  if (const auto* strings = std::get_if<std::vector<std::string>>(&value)) {
    for (const std::string& text : *strings) list.add_bytes(2, text);
  } else if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&value)) {
    list.add_packed_int64(3, ints->begin(), ints->end());
  } else if (const auto* floats = std::get_if<std::vector<float>>(&value)) {
    list.add_packed_float(4, floats->begin(), floats->end());
  } else if (const auto* dtypes = std::get_if<std::vector<DType>>(&value)) {
    std::vector<std::int64_t> numbers;
    for (const DType dtype : *dtypes) numbers.push_back(static_cast<std::int64_t>(dtype));
    list.add_packed_int64(6, numbers.begin(), numbers.end());
  } else {
    for (const PartialShape& shape : std::get<std::vector<PartialShape>>(value)) add_shape(list, 7, shape);
  }
}

/// One member of AttrValue's oneof, written even if it is zero.
TRAINHOOK_DECL void write_attr(WireWriter& writer, const AttrValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    writer.add_bytes(2, *text);
  } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    writer.add_int64(3, *integer);
  } else if (const auto* number = std::get_if<float>(&value)) {
    writer.add_float(4, *number);
  } else if (const auto* truth = std::get_if<bool>(&value)) {
    writer.add_bool(5, *truth);
  } else if (const auto* dtype = std::get_if<DType>(&value)) {
    writer.add_enum(6, static_cast<std::int32_t>(*dtype));
  } else if (const auto* shape = std::get_if<PartialShape>(&value)) {
    add_shape(writer, 7, *shape);
  } else if (const auto* tensor = std::get_if<Tensor>(&value)) {
    add_wire_message(writer, 8, [&](WireWriter& message) { write_tensor(message, *tensor); });
  } else {
    add_wire_message(writer, 1, [&](WireWriter& list) { write_list(list, value); });
  }
}

TRAINHOOK_DECL void write_node(WireWriter& writer, const NodeDef& node, bool add_shapes) {
  writer.add_bytes(1, node.name);
  writer.add_bytes(2, node.op);
  for (const std::string& input : node.inputs) writer.add_bytes(3, input);
  Attrs attrs = node.attrs;
  if (add_shapes && !node.output_shapes.empty()) {
    attrs.erase("_output_shapes");
    attrs.emplace("_output_shapes", node.output_shapes);
  }
  for (const Attrs::value_type& attr : attrs) {
    add_wire_message(writer, 5, [&](WireWriter& entry) {  // of a map
      entry.add_bytes(1, attr.first);
      add_wire_message(entry, 2, [&](WireWriter& message) { write_attr(message, attr.second); });
    });
  }
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
