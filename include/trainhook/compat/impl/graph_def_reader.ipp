// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/compat/graph_def_reader.hpp>

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/core/utf8.hpp>
#include <trainhook/model/graph_def/graph_def_writer.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/proto/message_text.hpp>

namespace trainhook::detail {

GraphDef GraphDefReader::read(WireReader reader) {
  GraphDef def{.source = std::string(what_)};
  while (reader.next()) {
    GraphMessage part;
    read_one_field(reader, part);
    for (const NodeMessage& node : part.node) def.nodes.push_back(read_node(node));
    if (part.library) {
      for (const FunctionDefMessage& function : part.library->function)
        def.functions.push_back(read_function(function));
    }
    if (!part.versions) continue;
    def.producer = part.versions->producer;
    if (part.versions->min_consumer > kGraphDefProducer) {
      throw UnimplementedError(
          "{} asks for a reader that follows version {} or newer of TensorFlow's op definitions, and this library "
          "follows version {}; update this library, or write the graph with an older TensorFlow",
          what_, part.versions->min_consumer, kGraphDefProducer);
    }
  }
  // Until version 21, a placeholder of an unknown shape was written like one of a scalar; TensorFlow reads them so,
  // too.
  constexpr std::int64_t kLastWithoutUnknownShapes = 21;
  if (def.producer > kLastWithoutUnknownShapes) return def;
  for (NodeDef& node : def.nodes) {
    const auto found = node.attrs.find("shape");
    if (node.op != "Placeholder" || found == node.attrs.end()) continue;
    auto* const shape = std::get_if<PartialShape>(&found->second);
    if (shape != nullptr && *shape == PartialShape(Shape())) *shape = PartialShape();
  }
  return def;
}

FunctionDef GraphDefReader::read_function(const FunctionDefMessage& message) {
  FunctionDef function{.name = checked_name(message.signature.name, what_),
                       .inputs = read_args(message.signature.input_arg),
                       .outputs = read_args(message.signature.output_arg)};
  for (const NodeMessage& node : message.node_def) function.nodes.push_back(read_node(node));
  for (const ResultMessage& result : message.ret)
    function.results.emplace(checked_name(result.key, what_), checked_name(result.value, what_));
  for (const ResultMessage& effect : message.control_ret) function.effects.push_back(checked_name(effect.value, what_));
  return function;
}

std::vector<FunctionDef::Arg> GraphDefReader::read_args(const std::vector<ArgMessage>& messages) const {
  std::vector<FunctionDef::Arg> args;
  for (const ArgMessage& message : messages) {
    args.push_back({.name = checked_name(message.name, what_)});
    try {
      args.back().dtype = read_dtype(message.type, what_);
    } catch (const UnimplementedError&) {}  // a handle
  }
  return args;
}

NodeDef GraphDefReader::read_node(const NodeMessage& message) {
  NodeDef node{.name = checked_name(message.name, what_), .op = checked_name(message.op.value_or(""), what_)};
  for (const std::string_view input : message.input) node.inputs.push_back(checked_name(input, what_));
  for (const AttrMessage& attr : message.attr) read_attr(attr, node);
  if (node.name.empty()) throw DataLossError("{} is damaged or of another format: a node has no name", what_);
  const auto shapes = node.attrs.find("_output_shapes");
  if (shapes != node.attrs.end()) {
    if (const auto* list = std::get_if<std::vector<PartialShape>>(&shapes->second)) node.output_shapes = *list;
    node.attrs.erase(shapes);
  }
  return node;
}

void GraphDefReader::read_attr(const AttrMessage& message, NodeDef& node) {
  const std::string key = checked_name(message.key.value_or(""), what_);
  try {
    node.attrs.insert_or_assign(key, read_value(WireReader(message.value, what_), node, key));
  } catch (const UnimplementedError& error) {
    if (key.starts_with('_')) return;  // no op type has such an attribute
    node.unheld_attrs.push_back(
        fmt::format("{} (attribute {} of node '{}', a {})", error.what(), key, node.name, node.op));
  }
}

AttrValue GraphDefReader::read_value(WireReader reader, NodeDef& node, const std::string& key) {
  AttrValueMessage message;
  while (reader.next()) {
    if (!read_known_field(reader, message)) refuse();
  }
  const auto& value = message.value;
  if (const auto* list = std::get_if<Serialized<ListValueMessage>>(&value))
    return read_list(reader.message_in(*list), node, key);
  if (const auto* text = std::get_if<std::string_view>(&value)) return std::string(*text);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* number = std::get_if<float>(&value)) return *number;
  if (const auto* truth = std::get_if<bool>(&value)) return *truth;
  if (const auto* dtype = std::get_if<std::uint64_t>(&value)) return read_dtype(*dtype, what_);
  if (const auto* shape = std::get_if<TensorShapeMessage>(&value)) return read_shape(*shape, what_);
  if (const auto* tensor = std::get_if<TensorMessage>(&value)) return read_tensor(*tensor, what_, budget_);
  if (const auto* function = std::get_if<Serialized<FunctionMessage>>(&value))
    node.functions.emplace(key, checked_name(parse_message<FunctionMessage>(*function, what_).name, what_));
  refuse();
}

void GraphDefReader::refuse() const {
  throw UnimplementedError("{}: this library does not support functions, or lists of tensors or booleans", what_);
}

AttrValue GraphDefReader::read_list(WireReader reader, const NodeDef& node, const std::string& key) {
  ListValueMessage list;
  while (reader.next()) {
    if (!read_known_field(reader, list)) refuse();
  }
  if (!list.b.empty() || !list.tensor.empty() || !list.func.empty()) refuse();
  const bool is_given[] = {!list.s.empty(), !list.i.empty(), !list.f.empty(), !list.type.empty(), !list.shape.empty()};
  if (std::ranges::count(is_given, true) > 1) {
    throw DataLossError("{} is damaged or of another format: attribute {} of node '{}' is a list of two kinds", what_,
                        key, node.name);
  }
  if (!list.s.empty()) return std::vector<std::string>(list.s.begin(), list.s.end());
  if (!list.f.empty()) return std::move(list.f);
  if (!list.type.empty()) {
    std::vector<DType> dtypes;
    for (const std::uint64_t number : list.type) dtypes.push_back(read_dtype(number, what_));
    return dtypes;
  }
  if (!list.shape.empty()) {
    std::vector<PartialShape> shapes;
    for (const TensorShapeMessage& shape : list.shape) shapes.push_back(read_shape(shape, what_));
    return shapes;
  }
  return std::move(list.i);
}

bool is_text_name(std::string_view path) noexcept { return path.ends_with("txt"); }

}  // namespace trainhook::detail

namespace trainhook {

GraphDef parse_graph_def(std::string_view bytes, std::string_view what) {
  return detail::GraphDefReader(what).read(detail::WireReader(bytes, what));
}

GraphDef parse_graph_def_text(std::string_view text, std::string_view what) {
  return parse_graph_def(detail::wire_from_text(text, what, detail::kTextFields<detail::GraphMessage>), what);
}

GraphDef read_graph_def(FileSystem& file_system, const std::string& path) {
  const std::string content = read_file(file_system, path);
  return detail::is_text_name(path) ? parse_graph_def_text(content, path) : parse_graph_def(content, path);
}

}  // namespace trainhook
