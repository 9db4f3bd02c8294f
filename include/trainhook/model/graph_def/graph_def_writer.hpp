// SPDX-License-Identifier: Apache-2.0
/// @file
/// Writes a graph as a GraphDef, in bytes or text, for TensorFlow and TensorBoard.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook {

class FileSystem;
class Graph;

struct GraphDefOptions {
  bool add_shapes = false;  ///< adds the attribute `_output_shapes`, with which TensorBoard labels edges
};

namespace detail {

/// The version of TensorFlow's op definitions that this library follows, that of TensorFlow 2.15.
inline constexpr std::int32_t kGraphDefProducer = 1645;

/// Appends the graph's nodes to the bytes of a GraphDef.
TRAINHOOK_DECL void append_nodes(std::string& bytes, const Graph& graph, const GraphDefOptions& options);

/// Appends what comes after the nodes.
TRAINHOOK_DECL void append_versions(std::string& bytes);

/// Calls `take` with the bytes of the GraphDef in pieces of whole fields, so that at most one large constant is in
/// memory a second time. A piece is valid until `take` returns.
TRAINHOOK_DECL void for_each_piece(const Graph& graph, const GraphDefOptions& options,
                                   FunctionRef<void(std::string_view piece)> take);

/// Writes the graph to a file piece by piece, atomically, as `write_graph` does.
TRAINHOOK_DECL void write_graph_file(FileSystem& file_system, const std::string& path, const Graph& graph, bool as_text,
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
#include <trainhook/model/graph_def/impl/graph_def_writer.ipp>
#endif
