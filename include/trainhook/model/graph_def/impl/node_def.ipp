// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/graph_def/node_def.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>
#include <variant>

#include <trainhook/graph/graph.hpp>
#include <trainhook/model/graph_def/graph_def_messages.hpp>
#include <trainhook/model/graph_def/tensor_proto.hpp>

namespace trainhook::detail {

std::optional<InputName> parse_input_name(std::string_view input) noexcept {
  if (input.starts_with('^')) return InputName{.node = input.substr(1), .is_control = true};
  const std::size_t colon = input.rfind(':');
  if (colon == std::string_view::npos) return InputName{.node = input};
  InputName name{.node = input.substr(0, colon)};
  const std::string_view digits = input.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), name.index);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return name;
}

inline ListValueMessage list_message(const AttrValue& value) {
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

/// The value as a message, which points to it and to `list`. A chain of questions: a visitor is a function for each
/// alternative.
inline AttrValueMessage attr_value_message(const AttrValue& value, std::string& list) {
  AttrValueMessage message;
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
  return message;
}

/// The bytes of large constants among the attributes, of which there is no copy but in the file's bytes.
inline std::size_t content_bytes(const Attrs& attrs) noexcept {
  std::size_t size = 0;
  for (const auto& [key, value] : attrs) {
    if (const auto* tensor = std::get_if<Tensor>(&value)) size += tensor_content(*tensor).size();
  }
  return size;
}

inline void append_attr(std::string& bytes, std::string_view key, const AttrValueMessage& value) {
  append_nested(bytes, field_number(&NodeMessage::attr), [&] {
    append_element(bytes, field_number(&AttrMessage::key), key);
    append_element(bytes, field_number(&AttrMessage::value), value);
  });
}

/// @param zeros the value of a Const, which sorts after its other attributes; or null
inline void append_fields(std::string& bytes, const NodeDef& node, const TensorMessage* zeros) {
  append_field(bytes, field_number(&NodeMessage::name), node.name);
  append_element(bytes, field_number(&NodeMessage::op), node.op);
  append_field(bytes, field_number(&NodeMessage::input), node.inputs);
  for (const auto& [key, value] : node.attrs) {
    std::string list;
    append_attr(bytes, key, attr_value_message(value, list));
  }
  if (zeros != nullptr) append_attr(bytes, "value", {.value = *zeros});
}

void append_node(std::string& bytes, NodeDef node, bool add_shapes, const TensorMessage* zeros) {
  if (add_shapes && !node.output_shapes.empty())
    node.attrs.insert_or_assign("_output_shapes", std::move(node.output_shapes));
  // At once, so that the string does not grow again when lengths are put into it.
  const std::size_t room = bytes.size() + content_bytes(node.attrs) + kTypicalNode;
  if (room > bytes.capacity()) bytes.reserve((std::max)(room, 2 * bytes.capacity()));
  append_nested(bytes, field_number(&GraphMessage::node), [&] { append_fields(bytes, node, zeros); });
}

void append_zeros(std::string& bytes, std::string name, DType dtype, const Shape& shape, bool add_shapes) {
  const TensorMessage zeros = zeros_message(dtype, shape);
  append_node(bytes, {.name = std::move(name), .op = "Const", .attrs = {{"dtype", dtype}}, .output_shapes = {shape}},
              add_shapes, &zeros);
}

inline std::size_t expected_bytes(const Node& node) {
  constexpr std::size_t kAttr = 40;
  std::size_t size = kTypicalNode / 4 + node.name().size() + content_bytes(node.attrs()) + kAttr * node.attrs().size();
  for (const Output& input : node.inputs()) size += input.node().name().size() + 8;
  for (const Operation& input : node.control_inputs()) size += input.name().size() + 8;
  for (const OutputSpec& output : node.outputs())
    size += output.shape.has_rank() ? kAttr + 8 * output.shape.rank() : kAttr;
  return size;
}

std::size_t expected_bytes(const Graph& graph) {
  std::size_t size = kTypicalNode;  // of the versions, too
  for (const Node& node : graph.nodes()) size += expected_bytes(node);
  return size;
}

}  // namespace trainhook::detail

namespace trainhook {

NodeDef node_def_of(const Node& node) {
  NodeDef def{.name = node.name(), .op = node.type(), .attrs = node.attrs()};
  for (const Output& input : node.inputs()) def.inputs.push_back(detail::input_name(input));
  for (const Operation& input : node.control_inputs()) def.inputs.push_back("^" + input.name());
  for (const OutputSpec& output : node.outputs()) def.output_shapes.push_back(output.shape);
  return def;
}

}  // namespace trainhook
