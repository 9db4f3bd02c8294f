// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/saving/meta_graph.hpp>

#include <algorithm>
#include <vector>

#include <trainhook/graph/graph_export.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook::detail {

std::string meta_graph_of(SessionRef session, const SaverOptions& saver) {
  const GraphExport* const how = session.graph_export();
  if (how == nullptr) return {};
  MetaGraphOptions options{.max_to_keep = saver.max_to_keep,
                           .sharded = saver.sharded,
                           .keep_checkpoint_every_n_hours = static_cast<float>(saver.keep_checkpoint_every_n_hours),
                           .add_shapes = true};
  if (!saver.var_list.empty()) {
    std::vector<std::string> saved = saver.var_list;
    std::ranges::sort(saved);
    options.variables = global_variables(session.graph());
    std::erase_if(*options.variables,
                  [&](const Variable& variable) { return !std::ranges::binary_search(saved, variable.name()); });
  }
  return how->meta_graph(session.graph(), options);
}

}  // namespace trainhook::detail
