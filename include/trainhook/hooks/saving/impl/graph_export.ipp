// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of graph_export.hpp.
#pragma once

#include <trainhook/hooks/saving/graph_export.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include <trainhook/graph/variable.hpp>
#include <trainhook/graph_def/graph_def_writer.hpp>
#include <trainhook/graph_def/meta_graph_def.hpp>
#include <trainhook/io/path.hpp>

namespace trainhook::detail {

std::string export_meta_graph_for(const Graph& graph, const SaverOptions& saver) {
  MetaGraphOptions options{.max_to_keep = saver.max_to_keep,
                           .sharded = saver.sharded,
                           .keep_checkpoint_every_n_hours = static_cast<float>(saver.keep_checkpoint_every_n_hours),
                           .add_shapes = true};
  if (!saver.var_list.empty()) {
    std::vector<std::string> saved = saver.var_list;
    std::ranges::sort(saved);
    options.variables = global_variables(graph);
    std::erase_if(*options.variables,
                  [&](const Variable& variable) { return !std::ranges::binary_search(saved, variable.name()); });
  }
  return export_meta_graph(graph, options);
}

void write_graph_text(FileSystem& file_system, const Graph& graph, const std::string& directory) {
  file_system.make_directories(directory);
  write_graph_file(file_system, join_path(directory, "graph.pbtxt"), graph, true, {.add_shapes = true});
}

void add_graph_events(FileWriter& writer, const Graph& graph, const std::string& meta_graph) {
  writer.add_graph(as_graph_def(graph, {.add_shapes = true}));
  writer.add_meta_graph(meta_graph);
}

}  // namespace trainhook::detail
