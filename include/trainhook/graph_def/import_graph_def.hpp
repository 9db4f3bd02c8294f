// SPDX-License-Identifier: Apache-2.0
/// @file
/// import_graph_def: the nodes of a GraphDef into a graph.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>
#include <trainhook/graph_def/graph_def_reader.hpp>

namespace trainhook {

struct ImportGraphDefOptions {
  std::string name = "import";                ///< the name scope of the nodes; empty: they keep their names
  std::map<std::string, Output> input_map{};  ///< what nodes take in place of an input of this name, `x` or `x:0`
  std::span<const OpDef> op_defs{};           ///< of op types of one's own; must outlive the call
};

/// Adds the nodes of `def`, which may be in any order, and returns them in the order of the file.
/// Attributes that the file leaves out get their defaults. Resource variables, and the ops that read and change them,
/// become reference variables of the same names and their ops, unless `op_defs` defines VarHandleOp.
/// A node of an op type that is not known here is added too, and a log line says so. It cannot run: a run that needs it
/// throws UnimplementedError, unless the run feeds its outputs. Attributes of such a node that this library cannot hold
/// are lost.
/// @throws InvalidArgumentError for nodes that do not fit together, and UnimplementedError for a while_loop and for
/// attributes of a known op type that this library cannot hold, each naming node and op type. Missing inputs and cycles
/// are found before anything is added; nodes that were added before another error stay. Source: `tf.import_graph_def`.
TRAINHOOK_DECL std::vector<Operation> import_graph_def(Graph& graph, const GraphDef& def,
                                                       const ImportGraphDefOptions& options = {});

namespace detail {

/// The same, without a look at queues.
TRAINHOOK_DECL std::vector<Operation> import_nodes(Graph& graph, const GraphDef& def,
                                                   const ImportGraphDefOptions& options);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph_def/impl/import_graph_def.ipp>
#endif
