// SPDX-License-Identifier: Apache-2.0
/// @file
/// GraphDef from a graph, as bytes and as text: what TensorFlow imports and TensorBoard shows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph_def/node_def.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/proto/wire.hpp>

namespace trainhook {

struct GraphDefOptions {
  bool add_shapes = false;  ///< the attribute `_output_shapes`, from which TensorBoard labels edges
};

namespace detail {

/// The version of the op definitions that our nodes follow: TensorFlow 2.15's.
inline constexpr std::int64_t kGraphDefProducer = 1645;

/// GraphDef: node=1, versions=4 {producer=1}. `extra` follows the graph's own nodes.
TRAINHOOK_DECL void write_graph_def(WireWriter& writer, const Graph& graph, const std::vector<NodeDef>& extra,
                                    const GraphDefOptions& options);

}  // namespace detail

/// The graph as a serialized GraphDef; the same graph gives the same bytes. Source: `tf.Graph.as_graph_def`.
[[nodiscard]] TRAINHOOK_DECL std::string as_graph_def(const Graph& graph, const GraphDefOptions& options = {});

/// The graph as the text of a GraphDef.
[[nodiscard]] TRAINHOOK_DECL std::string as_graph_def_text(const Graph& graph, const GraphDefOptions& options = {});

/// Writes the graph to `directory/name`, replacing what is there at once or not at all. Returns the path. Source:
/// `tf.io.write_graph`.
TRAINHOOK_DECL std::string write_graph(FileSystem& file_system, const Graph& graph, std::string_view directory,
                                       std::string_view name = "graph.pbtxt", bool as_text = true);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph_def/impl/graph_def_writer.ipp>
#endif
