// SPDX-License-Identifier: Apache-2.0
/// @file
/// MetaGraphDef, the `.meta` file of a checkpoint: a graph with its collections and a description of its saver.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <trainhook/checkpoint/checkpoint_part.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/graph_export.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/model/graph_def/node_def.hpp>

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

}  // namespace trainhook::detail

namespace trainhook {

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

/// These functions, for who has a graph written: `loop.export_graph(trainhook::graph_export())`.
[[nodiscard]] TRAINHOOK_DECL const GraphExport& graph_export() noexcept;

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/graph_def/impl/meta_graph_def.ipp>
#endif
