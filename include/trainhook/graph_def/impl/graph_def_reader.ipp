// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of graph_def_reader.hpp.
#pragma once

#include <trainhook/graph_def/graph_def_reader.hpp>

#include <utility>

#include <fmt/core.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph_def/graph_def_schema.hpp>
#include <trainhook/graph_def/message_schema.hpp>
#include <trainhook/graph_def/utf8.hpp>
#include <trainhook/io/whole_file.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL GraphDef GraphDefReader::read(WireReader reader) {
  GraphDef def{.source = std::string(what_)};
  while (reader.next()) {
    if (reader.tag() == 1) {
      def.nodes.push_back(read_node(reader.get_message()));
    } else if (reader.tag() == 4) {
      reader.get_message().for_each_field(1, [&](WireReader& versions) { def.producer = versions.get_int64(); });
    } else {
      reader.skip();
    }
  }
  return def;
}

TRAINHOOK_DECL NodeDef GraphDefReader::read_node(WireReader reader) {
  NodeDef node;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1: node.name = read_name(reader, what_); break;
      case 2: node.op = read_name(reader, what_); break;
      case 3: node.inputs.push_back(read_name(reader, what_)); break;
      case 5: read_attr(reader.get_message(), node); break;
      default: reader.skip();
    }
  }
  if (node.name.empty()) throw DataLossError("{} is damaged or of another format: a node has no name", what_);
  const auto shapes = node.attrs.find("_output_shapes");
  if (shapes != node.attrs.end()) {
    if (const auto* list = std::get_if<std::vector<PartialShape>>(&shapes->second)) node.output_shapes = *list;
    node.attrs.erase(shapes);
  }
  return node;
}

TRAINHOOK_DECL void GraphDefReader::read_attr(WireReader entry, NodeDef& node) {
  std::string key;
  std::string_view value;
  while (entry.next()) {
    if (entry.tag() == 1) {
      key = read_name(entry, what_);
    } else if (entry.tag() == 2) {
      value = entry.get_bytes();
    } else {
      entry.skip();
    }
  }
  try {
    node.attrs.insert_or_assign(key, read_value(WireReader(value, what_), node, key));
  } catch (const UnimplementedError& error) {
    node.unheld_attrs.push_back(
        fmt::format("{} (attribute {} of node '{}', a {})", error.what(), key, node.name, node.op));
  }
}

TRAINHOOK_DECL AttrValue GraphDefReader::read_value(WireReader reader, const NodeDef& node, const std::string& key) {
  AttrValue value;
  bool is_given = false;
  for (; reader.next(); is_given = true) {
    switch (reader.tag()) {
      case 1: value = read_list(reader.get_message(), node, key); break;
      case 2: value = reader.get_string(); break;
      case 3: value = reader.get_int64(); break;
      case 4: value = reader.get_float(); break;
      case 5: value = reader.get_bool(); break;
      case 6: value = read_dtype(reader.get_uint64(), what_); break;
      case 7: value = read_shape(reader.get_message(), what_); break;
      case 8: value = TensorProtoReader(what_, budget_).read(reader.get_message()); break;
      default: refuse();
    }
  }
  if (!is_given) refuse();
  return value;
}

TRAINHOOK_DECL void GraphDefReader::refuse() const {
  throw UnimplementedError("{}: this library does not support functions, or lists of tensors or booleans", what_);
}

TRAINHOOK_DECL AttrValue GraphDefReader::read_list(WireReader reader, const NodeDef& node, const std::string& key) {
  AttrValue list = std::vector<std::int64_t>();
  std::uint32_t tag = 0;
  std::uint32_t kind = 0;
  const auto append = [&]<class T>(T value) {
    if (kind != tag && kind != 0) {
      throw DataLossError("{} is damaged or of another format: attribute {} of node '{}' is a list of two kinds", what_,
                          key, node.name);
    }
    if (kind == 0) list = std::vector<T>();
    kind = tag;
    std::get<std::vector<T>>(list).push_back(std::move(value));
  };
  while (reader.next()) {
    tag = reader.tag();  // which reading the field resets
    switch (tag) {
      case 2: append(reader.get_string()); break;
      case 3: reader.for_each<std::int64_t>(append); break;
      case 4: reader.for_each<float>(append); break;
      case 6: reader.for_each<std::uint64_t>([&](std::uint64_t number) { append(read_dtype(number, what_)); }); break;
      case 7: append(read_shape(reader.get_message(), what_)); break;
      default: refuse();
    }
  }
  return list;
}

TRAINHOOK_DECL bool is_text_name(std::string_view path) noexcept { return path.ends_with("txt"); }

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL GraphDef parse_graph_def(std::string_view bytes, std::string_view what) {
  return detail::GraphDefReader(what).read(detail::WireReader(bytes, what));
}

TRAINHOOK_DECL GraphDef parse_graph_def_text(std::string_view text, std::string_view what) {
  return parse_graph_def(detail::wire_from_text(text, what, detail::kGraphSchema), what);
}

TRAINHOOK_DECL GraphDef read_graph_def(FileSystem& file_system, const std::string& path) {
  const std::string content = read_file(file_system, path);
  return detail::is_text_name(path) ? parse_graph_def_text(content, path) : parse_graph_def(content, path);
}

}  // namespace trainhook
