// SPDX-License-Identifier: Apache-2.0
/// @file
/// OpVersions: converts nodes of op types that TensorFlow has in several versions to the version that runs here.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <trainhook/compat/graph_def_reader.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/op_def.hpp>
#include <trainhook/graph_def/node_def.hpp>

namespace trainhook::detail {

/// Replaces nodes of other versions of an op type, mostly older ones, by nodes of the same names and results. An
/// attribute that became an input is a constant in an additional node; these are placed after all others.
class OpVersions {
 public:
  /// `extra` defines op types that stay as they are.
  OpVersions(GraphDef def, std::span<const OpDef> extra) : def_(std::move(def)), extra_(extra) {}

  [[nodiscard]] TRAINHOOK_DECL GraphDef replaced() &&;

  /// Returns whether some node of `def` would be replaced.
  [[nodiscard]] TRAINHOOK_DECL static bool occur_in(const GraphDef& def, std::span<const OpDef> extra);

  /// Returns the op type that runs here in place of `type`; `type` itself if it is not another version of one.
  [[nodiscard]] TRAINHOOK_DECL static std::string_view served(std::string_view type) noexcept;

 private:
  TRAINHOOK_DECL void convert(NodeDef& node);
  TRAINHOOK_DECL void add_input(NodeDef& node, std::string_view name, Tensor value);

  GraphDef def_;
  std::span<const OpDef> extra_;
  std::vector<NodeDef> constants_;
  std::unordered_set<std::string> names_;  // of all nodes; empty until a constant needs one
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/impl/op_versions.ipp>
#endif
