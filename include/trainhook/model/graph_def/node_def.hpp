// SPDX-License-Identifier: Apache-2.0
/// @file
/// NodeDef: a node of a GraphDef, with its inputs by name.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/dtype.hpp>
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
  std::vector<std::string> unheld_attrs{};         ///< descriptions of attributes that this library cannot represent
  std::map<std::string, std::string> functions{};  ///< of these, the names of functions by attribute
};

/// Converts a node of a graph.
[[nodiscard]] TRAINHOOK_DECL NodeDef node_def_of(const Node& node);

namespace detail {

struct TensorMessage;

/// The parts of an input's name.
struct InputName {
  std::string_view node{};
  std::size_t index = 0;
  bool is_control = false;
};

/// Splits `node`, `node:k` or `^node`; nothing if `input` is not such a name.
[[nodiscard]] TRAINHOOK_DECL std::optional<InputName> parse_input_name(std::string_view input) noexcept;

/// Appends the node to the bytes of a GraphDef. `add_shapes` adds the attribute `_output_shapes`.
/// @param zeros the value of a Const, which sorts after its other attributes; or null
TRAINHOOK_DECL void append_node(std::string& bytes, NodeDef node, bool add_shapes,
                                const TensorMessage* zeros = nullptr);

/// Appends a constant of zeros or of empty strings, which need not be in memory for that.
TRAINHOOK_DECL void append_zeros(std::string& bytes, std::string name, DType dtype, const Shape& shape,
                                 bool add_shapes);

/// About how many bytes the nodes of the graph take in a GraphDef: for a string that is to grow once.
[[nodiscard]] TRAINHOOK_DECL std::size_t expected_bytes(const Graph& graph);

inline constexpr std::size_t kTypicalNode = 256;  ///< bytes of a node that is no large constant

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/graph_def/impl/node_def.ipp>
#endif
