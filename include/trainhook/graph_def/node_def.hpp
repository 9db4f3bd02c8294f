// SPDX-License-Identifier: Apache-2.0
/// @file
/// NodeDef: a node of a GraphDef, with its inputs by name.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook {

/// A node of a GraphDef. Inputs are `node` for output 0, `node:k` for output k, `^node` for a control input, which come
/// last.
struct NodeDef {
  std::string name{};
  std::string op{};
  std::vector<std::string> inputs{};
  Attrs attrs{};
  std::vector<PartialShape> output_shapes{};
  std::vector<std::string> unheld_attrs{};  ///< descriptions of attributes that this library cannot represent
};

/// Converts a node of a graph.
[[nodiscard]] TRAINHOOK_DECL NodeDef node_def_of(const Node& node);

namespace detail {

/// The parts of an input's name.
struct InputName {
  std::string_view node{};
  std::size_t index = 0;
  bool is_control = false;
};

/// Splits `node`, `node:k` or `^node`; nothing if `input` is not such a name.
[[nodiscard]] TRAINHOOK_DECL std::optional<InputName> parse_input_name(std::string_view input) noexcept;

/// Appends the node to the bytes of a GraphDef. `add_shapes` adds the attribute `_output_shapes`, which sorts before
/// all others.
TRAINHOOK_DECL void append_node(std::string& bytes, const NodeDef& node, bool add_shapes);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph_def/impl/node_def.ipp>
#endif
