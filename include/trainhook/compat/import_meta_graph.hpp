// SPDX-License-Identifier: Apache-2.0
/// @file
/// import_meta_graph: adds the nodes and collections of a MetaGraphDef to a graph.
#pragma once

#include <span>
#include <string>

#include <trainhook/compat/meta_graph_def_reader.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook {

struct ImportMetaGraphOptions {
  std::string import_scope{};        ///< the name scope of the nodes; empty: they keep their names
  std::span<const OpDef> op_defs{};  ///< of op types of one's own; must outlive the graph
};

/// Adds the nodes of `def`, except those of its saver, and its collections of variables, outputs and operations; other
/// collections are skipped with a log line. Then a `Saver` can restore the checkpoint of the `.meta` file. The
/// SavedModels of TensorFlow 2 have no such collections: the variables that they restore become global variables, which
/// have their names from the graph, and in checkpoints those that `variables/variables` has.
/// @throws as `import_graph_def`, and InvalidArgumentError if a collection names a node that the graph does not have.
/// Source: `tf.compat.v1.train.import_meta_graph`.
TRAINHOOK_DECL void import_meta_graph(Graph& graph, const MetaGraphDef& def,
                                      const ImportMetaGraphOptions& options = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/impl/import_meta_graph.ipp>
#endif
