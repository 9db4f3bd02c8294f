// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of graph_def_writer.hpp.
#pragma once

#include <trainhook/graph_def/graph_def_writer.hpp>

#include <trainhook/graph_def/message_sinks.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/whole_file.hpp>

namespace trainhook {

TRAINHOOK_DECL std::string as_graph_def(const Graph& graph, const GraphDefOptions& options) {
  return detail::binary_message([&](auto& sink) { detail::write_graph_def(sink, graph, {}, options); });
}

TRAINHOOK_DECL std::string as_graph_def_text(const Graph& graph, const GraphDefOptions& options) {
  return detail::text_message([&](auto& sink) { detail::write_graph_def(sink, graph, {}, options); });
}

TRAINHOOK_DECL std::string write_graph(FileSystem& file_system, const Graph& graph, std::string_view directory,
                                       std::string_view name, bool as_text) {
  const std::string path = join_path(directory, name);
  write_file_atomically(file_system, path, as_text ? as_graph_def_text(graph) : as_graph_def(graph));
  return path;
}

}  // namespace trainhook
