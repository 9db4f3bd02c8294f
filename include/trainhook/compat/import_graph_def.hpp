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

/// Adds the nodes of `def`, which may be in any order, and returns them in the order of the file. Missing attributes
/// get their defaults. Resource variables, and the ops that read and change them, become reference variables of the
/// same names and their ops, unless `op_defs` defines VarHandleOp; other versions of an op type, such as `Gather`,
/// become the one that runs here. A call of a function of the file becomes the nodes of its body, `call/node`, and an
/// If its two branches. Op types that only imported graphs have run in a session with `compat::kernels()`.
/// Nodes of unknown op types, and those with attributes that this library cannot represent, are added too, with a log
/// line. They cannot run: a run that needs one throws UnimplementedError, unless it feeds the node's outputs. The
/// graph, and so an export of it, lacks those attributes. The same holds for the nodes of a while_loop, and for what
/// its iterations hand to the next one.
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
