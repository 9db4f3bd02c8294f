// SPDX-License-Identifier: Apache-2.0
/// @file
/// UnknownNodes: nodes of op types or with attributes that this library lacks, with what other nodes tell about their
/// outputs.
#pragma once

#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <trainhook/compat/graph_def_reader.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>
#include <trainhook/model/graph_def/node_def.hpp>

namespace trainhook::detail {

/// The nodes of a GraphDef that cannot run. They are imported so that the rest of the graph can be: their outputs can
/// be fed, and nodes that do not need them run.
class UnknownNodes {
 public:
  /// `extra` defines op types besides those of this library. `def` must outlive this.
  TRAINHOOK_DECL UnknownNodes(const GraphDef& def, std::span<const OpDef> extra);

  /// Returns the definition with which a node can run, or null.
  [[nodiscard]] TRAINHOOK_DECL static const OpDef* find_op(const NodeDef& node, std::span<const OpDef> extra);

  /// Returns the outputs of one of these nodes: at least one, and all that the file refers to. A dtype is the one that
  /// consumers need, or Invalid.
  [[nodiscard]] TRAINHOOK_DECL std::vector<OutputSpec> outputs(const NodeDef& node) const;

  /// Logs the number of nodes and names the first of them, if there are any.
  TRAINHOOK_DECL void log() const;

 private:
  TRAINHOOK_DECL void add_reader(const NodeDef& reader, const OpDef* op);

  const GraphDef* def_;
  std::vector<const NodeDef*> nodes_;
  std::unordered_map<std::string_view, std::vector<DType>> dtypes_;  ///< by node, then by output
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/impl/unknown_nodes.ipp>
#endif
