// SPDX-License-Identifier: Apache-2.0
/// @file
/// Writes a graph as a GraphDef, in bytes or text, for TensorFlow and TensorBoard.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>

namespace trainhook {

class FileSystem;
class Graph;
struct NodeDef;

struct GraphDefOptions {
  bool add_shapes = false;  ///< adds the attribute `_output_shapes`, with which TensorBoard labels edges
};

namespace detail {

/// The version of TensorFlow's op definitions that this library follows, that of TensorFlow 2.15.
inline constexpr std::int32_t kGraphDefProducer = 1645;

/// Serializes the graph; `extra` follows its nodes.
[[nodiscard]] TRAINHOOK_DECL std::string graph_def_bytes(const Graph& graph, const std::vector<NodeDef>& extra,
                                                         const GraphDefOptions& options);

/// Whether a file may be a GraphDef, in text format or not. For `write_file_atomically`.
[[nodiscard]] TRAINHOOK_DECL bool is_graph_def(std::string_view beginning);

}  // namespace detail

/// Serializes the graph as a GraphDef. The same graph always gives the same bytes. Source: `tf.Graph.as_graph_def`.
[[nodiscard]] TRAINHOOK_DECL std::string as_graph_def(const Graph& graph, const GraphDefOptions& options = {});

/// The graph as a GraphDef in text format.
[[nodiscard]] TRAINHOOK_DECL std::string as_graph_def_text(const Graph& graph, const GraphDefOptions& options = {});

/// Writes the graph to `directory/name`, atomically. Returns the path. @throws FailedPreconditionError if there is a
/// file that is no graph. Source: `tf.io.write_graph`.
TRAINHOOK_DECL std::string write_graph(FileSystem& file_system, const Graph& graph, std::string_view directory,
                                       std::string_view name = "graph.pbtxt", bool as_text = true);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph_def/impl/graph_def_writer.ipp>
#endif
