// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/saving/graph_export.hpp>

#include <algorithm>
#include <vector>

#include <trainhook/graph/variable.hpp>
#include <trainhook/graph_def/meta_graph_def.hpp>

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

}  // namespace trainhook::detail
