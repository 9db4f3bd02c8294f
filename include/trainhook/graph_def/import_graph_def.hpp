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

/// Adds the nodes of `def`, which may stand in any order. Returns them in the order of the file.
/// @throws UnimplementedError for an op type that is not known here, and InvalidArgumentError for nodes that do not go
/// together, each naming node and op type. What was added before an error stays; unknown op types, missing inputs and
/// cycles are found before anything is added. Resource variables, and what reads and changes them, become reference
/// variables of the same names, and the op types that go with those; not where `op_defs` defines VarHandleOp. Source:
/// `tf.import_graph_def`.
TRAINHOOK_DECL std::vector<Operation> import_graph_def(Graph& graph, const GraphDef& def,
                                                       const ImportGraphDefOptions& options = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph_def/impl/import_graph_def.ipp>
#endif
