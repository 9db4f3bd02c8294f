// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of graph_def_writer.hpp.
#pragma once

#include <trainhook/graph_def/graph_def_writer.hpp>

#include <algorithm>
#include <cstddef>

#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph_def/graph_def_messages.hpp>
#include <trainhook/graph_def/node_def.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/proto/message_text.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL std::string graph_def_bytes(const Graph& graph, const std::vector<NodeDef>& extra,
                                           const GraphDefOptions& options) {
  std::string bytes;
  for (const Node& node : graph.nodes()) append_node(bytes, node_def_of(node), options.add_shapes);
  for (const NodeDef& node : extra) append_node(bytes, node, options.add_shapes);
  append_message(bytes, GraphMessage{.versions = VersionMessage{.producer = kGraphDefProducer}});
  return bytes;
}

TRAINHOOK_DECL bool is_graph_def(std::string_view beginning) {
  constexpr std::string_view kFirstField = "\n";  // its tag: a graph's first node, and in that its name
  const auto is_last = [](char byte) { return (static_cast<unsigned char>(byte) & 0x80U) == 0; };
  std::string_view name = beginning.substr((std::min)(beginning.size(), std::size_t{1}));
  const auto length = std::ranges::find_if(name, is_last);
  name = length == name.end() ? std::string_view() : std::string_view(length + 1, name.end());
  return (beginning.starts_with(kFirstField) && name.starts_with(kFirstField)) ||
         looks_like_text_of<GraphMessage>(beginning);
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL std::string as_graph_def(const Graph& graph, const GraphDefOptions& options) {
  return detail::graph_def_bytes(graph, {}, options);
}

TRAINHOOK_DECL std::string as_graph_def_text(const Graph& graph, const GraphDefOptions& options) {
  return detail::text_from_wire(as_graph_def(graph, options), detail::kTextFields<detail::GraphMessage>);
}

TRAINHOOK_DECL std::string write_graph(FileSystem& file_system, const Graph& graph, std::string_view directory,
                                       std::string_view name, bool as_text) {
  const std::string path = join_path(directory, name);
  write_file_atomically(file_system, path, as_text ? as_graph_def_text(graph) : as_graph_def(graph),
                        &detail::is_graph_def);
  return path;
}

}  // namespace trainhook
