// SPDX-License-Identifier: Apache-2.0
/// @file
/// import_graph_def: adds the nodes of a GraphDef to a graph.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <trainhook/compat/graph_def_reader.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook {

struct ImportGraphDefOptions {
  std::string name = "import";                ///< the name scope of the nodes; empty: they keep their names
  std::map<std::string, Output> input_map{};  ///< replaces inputs of these names, `x` or `x:0`
  std::span<const OpDef> op_defs{};           ///< of op types of one's own; must outlive the graph
};

/// Adds the nodes of `def`, which may be in any order, and returns them in the order of the file. Nodes that cannot run
/// here are added with a log line, without the attributes that this library cannot represent; a run that needs one
/// throws UnimplementedError, unless it feeds the node's outputs. .github/ops.md, "What import lacks", says which those
/// are, and which nodes become others: resource variables, older versions of op types, calls of functions.
/// @throws InvalidArgumentError for nodes that do not fit together, with node and op type. Missing inputs and cycles
/// are detected before any node is added; after other errors, nodes that were already added stay. Source:
/// `tf.import_graph_def`.
TRAINHOOK_DECL std::vector<Operation> import_graph_def(Graph& graph, const GraphDef& def,
                                                       const ImportGraphDefOptions& options = {});

namespace detail {

/// The same, without checking the queues.
TRAINHOOK_DECL std::vector<Operation> import_nodes(Graph& graph, const GraphDef& def,
                                                   const ImportGraphDefOptions& options);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/impl/import_graph_def.ipp>
#endif
