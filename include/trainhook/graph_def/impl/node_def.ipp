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

/// One member of AttrValue's oneof, written even if it is zero: list=1, s=2, i=3, f=4, b=5, type=6, shape=7, tensor=8.
struct AttrWriter {
  WireWriter& writer;

  void operator()(std::int64_t value) const { writer.add_int64(3, value); }
  void operator()(float value) const { writer.add_float(4, value); }
  void operator()(bool value) const { writer.add_bool(5, value); }
  void operator()(const std::string& value) const { writer.add_bytes(2, value); }
  void operator()(DType value) const { writer.add_enum(6, static_cast<std::int32_t>(value)); }
  void operator()(const PartialShape& value) const { add_shape(writer, 7, value); }
  void operator()(const Tensor& value) const {
    add_wire_message(writer, 8, [&](WireWriter& message) { write_tensor(message, value); });
  }
  template <class T>
  void operator()(const std::vector<T>& values) const {
    add_wire_message(writer, 1, [&](WireWriter& list) { write_list(list, values); });
  }

 private:
  static void write_list(WireWriter& list, const std::vector<std::int64_t>& values) {
    list.add_packed_int64(3, values.begin(), values.end());
  }
  static void write_list(WireWriter& list, const std::vector<float>& values) {
    list.add_packed_float(4, values.begin(), values.end());
  }
  static void write_list(WireWriter& list, const std::vector<std::string>& values) {
    for (const std::string& value : values) list.add_bytes(2, value);
  }
  static void write_list(WireWriter& list, const std::vector<DType>& values) {
    std::vector<std::int64_t> numbers;
    for (const DType value : values) numbers.push_back(static_cast<std::int64_t>(value));
    list.add_packed_int64(6, numbers.begin(), numbers.end());
  }
  static void write_list(WireWriter& list, const std::vector<PartialShape>& values) {
    for (const PartialShape& value : values) add_shape(list, 7, value);
  }
};

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
      add_wire_message(entry, 2, [&](WireWriter& message) { std::visit(AttrWriter{message}, attr.second); });
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
