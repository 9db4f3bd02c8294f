// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of graph_def_writer.hpp.
#pragma once

#include <trainhook/graph_def/graph_def_writer.hpp>

#include <trainhook/graph_def/graph_def_schema.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/whole_file.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL void write_graph_def(WireWriter& writer, const Graph& graph, const std::vector<NodeDef>& extra,
                                    const GraphDefOptions& options) {
  const auto write = [&](const NodeDef& node) {
    add_wire_message(writer, 1, [&](WireWriter& message) { write_node(message, node, options.add_shapes); });
  };
  for (const Node& node : graph.nodes()) write(node_def_of(node));
  for (const NodeDef& node : extra) write(node);
  add_wire_message(writer, 4, [](WireWriter& message) { message.add_int64(1, kGraphDefProducer); });
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL std::string as_graph_def(const Graph& graph, const GraphDefOptions& options) {
  std::string bytes;
  detail::WireWriter writer(bytes);
  detail::write_graph_def(writer, graph, {}, options);
  return bytes;
}

TRAINHOOK_DECL std::string as_graph_def_text(const Graph& graph, const GraphDefOptions& options) {
  return detail::text_from_wire(as_graph_def(graph, options), detail::kGraphSchema);
}

TRAINHOOK_DECL std::string write_graph(FileSystem& file_system, const Graph& graph, std::string_view directory,
                                       std::string_view name, bool as_text) {
  const std::string path = join_path(directory, name);
  write_file_atomically(file_system, path, as_text ? as_graph_def_text(graph) : as_graph_def(graph));
  return path;
}

}  // namespace trainhook
