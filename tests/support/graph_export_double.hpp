// SPDX-License-Identifier: Apache-2.0
/// @file
/// Writes a graph as the names of its nodes, for tests of who writes it, and where.
#pragma once

#include <string>

#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/graph_export.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/whole_file.hpp>

namespace trainhook::support {

inline std::string names_of_nodes(const Graph& graph) {
  std::string names;
  for (const Node& node : graph.nodes()) names += node.name() + "\n";
  return names;
}

inline constexpr GraphExport kGraphExportDouble{
    [](const Graph& graph) { return names_of_nodes(graph); },
    [](FileSystem& disk, const std::string& path, const Graph& graph) {
      write_file_atomically(disk, path, names_of_nodes(graph));
    },
    [](const Graph& graph, const MetaGraphOptions&) { return "meta\n" + names_of_nodes(graph); }};

}  // namespace trainhook::support
