// SPDX-License-Identifier: Apache-2.0
/// @file
/// The nodes with which TensorFlow's Saver saves and restores; they exist only in exported files.
#pragma once

#include <string>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/graph_def/node_def.hpp>

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

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph_def/impl/saver_nodes.ipp>
#endif
