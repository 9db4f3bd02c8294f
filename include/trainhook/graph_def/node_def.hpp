// SPDX-License-Identifier: Apache-2.0
/// @file
/// NodeDef: a node as a GraphDef holds it, with its inputs by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph_def/tensor_proto.hpp>

namespace trainhook {

/// A node of a GraphDef. Inputs are `node` for output 0, `node:k` for output k, `^node` for a control input, which come
/// last.
struct NodeDef {
  std::string name{};
  std::string op{};
  std::vector<std::string> inputs{};
  Attrs attrs{};
  std::vector<PartialShape> output_shapes{};
  std::vector<std::string> unheld_attrs{};  ///< attributes of a file that this library cannot hold, as messages say it
};

/// The node of a graph in that form.
[[nodiscard]] TRAINHOOK_DECL NodeDef node_def_of(const Node& node);

namespace detail {

/// How a NodeDef names one of its inputs.
struct InputName {
  std::string_view node{};
  std::size_t index = 0;
  bool is_control = false;
};

/// Returns the parts of `node`, `node:k` or `^node`, or nothing if `input` is no such name.
[[nodiscard]] TRAINHOOK_DECL std::optional<InputName> parse_input_name(std::string_view input) noexcept;

template <class Sink>
void write_list(Sink& sink, const std::vector<std::int64_t>& values) {
  sink.integers(3, "i", values);
}
template <class Sink>
void write_list(Sink& sink, const std::vector<float>& values) {
  sink.reals(4, "f", std::span<const float>(values));
}
template <class Sink>
void write_list(Sink& sink, const std::vector<std::string>& values) {
  for (const std::string& value : values) sink.bytes(2, "s", value);
}
template <class Sink>
void write_list(Sink& sink, const std::vector<DType>& values) {
  std::vector<std::int64_t> numbers;
  for (const DType value : values) numbers.push_back(static_cast<std::int64_t>(value));
  sink.enumerators(6, "type", numbers,
                   [](std::int64_t number) { return dtype_proto_name(static_cast<DType>(number)); });
}
template <class Sink>
void write_list(Sink& sink, const std::vector<PartialShape>& values) {
  for (const PartialShape& value : values) {
    sink.message(7, "shape", [&](auto& message) { write_shape(message, value); });
  }
}

/// One member of AttrValue's oneof, written even if it is zero.
template <class Sink>
struct AttrWriter {
  Sink& sink;

  void operator()(std::int64_t value) const { sink.integer(3, "i", value); }
  void operator()(float value) const { sink.real(4, "f", value); }
  void operator()(bool value) const { sink.boolean(5, "b", value); }
  void operator()(const std::string& value) const { sink.bytes(2, "s", value); }
  void operator()(DType value) const { write_dtype(sink, 6, "type", value); }
  void operator()(const PartialShape& value) const {
    sink.message(7, "shape", [&](auto& message) { write_shape(message, value); });
  }
  void operator()(const Tensor& value) const {
    sink.message(8, "tensor", [&](auto& message) { write_tensor(message, value); });
  }
  template <class T>
  void operator()(const std::vector<T>& values) const {
    sink.message(1, "list", [&](auto& message) { write_list(message, values); });
  }
};

/// An entry of a map<string, AttrValue>.
template <class Sink>
void write_attr(Sink& sink, const std::string& key, const AttrValue& value) {
  sink.message(5, "attr", [&](auto& entry) {
    entry.bytes(1, "key", key);
    entry.message(2, "value", [&](auto& message) {
      std::visit(AttrWriter<std::remove_reference_t<decltype(message)>>{message}, value);
    });
  });
}

/// NodeDef: name=1, op=2, input=3, attr=5. `add_shapes` adds the attribute `_output_shapes`, which sorts before all
/// others.
template <class Sink>
void write_node(Sink& sink, const NodeDef& node, bool add_shapes) {
  sink.bytes(1, "name", node.name);
  sink.bytes(2, "op", node.op);
  for (const std::string& input : node.inputs) sink.bytes(3, "input", input);
  Attrs attrs = node.attrs;
  if (add_shapes && !node.output_shapes.empty()) {
    attrs.erase("_output_shapes");
    attrs.emplace("_output_shapes", node.output_shapes);
  }
  for (const auto& [key, value] : attrs) write_attr(sink, key, value);
}

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph_def/impl/node_def.ipp>
#endif
