// SPDX-License-Identifier: Apache-2.0
/// @file
/// MetaGraphDef, the `.meta` file beside a checkpoint: a graph with its collections and the description of its saver.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook {

struct MetaGraphOptions {
  bool add_saver = true;  ///< the nodes and the SaverDef from which `tf.train.import_meta_graph` makes a Saver
  std::optional<std::vector<Variable>> variables{};  ///< what that saver saves; without a value, the global variables
  std::int32_t max_to_keep = 5;
  bool sharded = false;  ///< what that saver writes has several data files
  float keep_checkpoint_every_n_hours = 10'000;
  bool add_shapes = false;
};

/// The graph as a serialized MetaGraphDef, with its collections of variables, outputs and operations and, by default,
/// what TensorFlow needs to restore our checkpoints of it. Source: `tf.compat.v1.train.export_meta_graph`.
[[nodiscard]] TRAINHOOK_DECL std::string export_meta_graph(const Graph& graph, const MetaGraphOptions& options = {});

/// The same as text.
[[nodiscard]] TRAINHOOK_DECL std::string export_meta_graph_text(const Graph& graph,
                                                                const MetaGraphOptions& options = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph_def/impl/meta_graph_def.ipp>
#endif
