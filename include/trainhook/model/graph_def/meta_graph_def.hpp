// SPDX-License-Identifier: Apache-2.0
/// @file
/// MetaGraphDef, the `.meta` file of a checkpoint: a graph with its collections and a description of its saver.
/// graph_export: the graph as a part of checkpoints.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <trainhook/checkpoint/checkpoint_part.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/model/graph_def/node_def.hpp>

namespace trainhook {
struct SaverOptions;
}

namespace trainhook::detail {

/// A subgraph that saves and restores, and the three names that a SaverDef refers to.
struct SaverNodes {
  std::vector<NodeDef> nodes{};
  std::string filename_tensor_name{};
  std::string save_tensor_name{};
  std::string restore_op_name{};
};

/// The subgraph for `variables`, which are saved in the order of their names. It has the structure and names of
/// TensorFlow's Saver.
TRAINHOOK_DECL SaverNodes saver_nodes(const Graph& graph, std::vector<Variable> variables);

/// The serialized MetaGraphDef of a graph whose variables `saver` saves.
[[nodiscard]] TRAINHOOK_DECL std::string meta_graph_of(const Graph& graph, const SaverOptions& saver);

}  // namespace trainhook::detail

namespace trainhook {

struct MetaGraphOptions {
  bool add_saver = true;  ///< adds the nodes and the SaverDef that `tf.train.import_meta_graph` needs for a Saver
  std::optional<std::vector<Variable>> variables{};  ///< of that saver; none: the global variables
  std::int32_t max_to_keep = 5;
  bool sharded = false;  ///< that saver writes several data files
  float keep_checkpoint_every_n_hours = 10'000;
  bool add_shapes = false;
};

/// Serializes the graph as a MetaGraphDef, with its collections of variables, outputs and operations and, by default,
/// the nodes that TensorFlow needs to restore this library's checkpoints. Source:
/// `tf.compat.v1.train.export_meta_graph`.
[[nodiscard]] TRAINHOOK_DECL std::string export_meta_graph(const Graph& graph, const MetaGraphOptions& options = {});

/// The same as text.
[[nodiscard]] TRAINHOOK_DECL std::string export_meta_graph_text(const Graph& graph,
                                                                const MetaGraphOptions& options = {});

/// The same as a part of a save, `SaveRequest::parts`: the file `<prefix>.meta`.
[[nodiscard]] TRAINHOOK_DECL std::shared_ptr<detail::SideFile> meta_graph_file(const Graph& graph,
                                                                               const MetaGraphOptions& options = {});

/// For who has a graph written, as `graph.pbtxt`, `.meta` files and graph events:
/// `loop.export_graph(trainhook::graph_export())`.
[[nodiscard]] TRAINHOOK_DECL const GraphExport& graph_export() noexcept;

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/graph_def/impl/graph_export.ipp>
#include <trainhook/model/graph_def/impl/meta_graph_def.ipp>
#endif
