// SPDX-License-Identifier: Apache-2.0
/// @file
/// OpDef: what a node of an op type takes and gives, for graphs that come from files.
#pragma once

#include <cstddef>
#include <string_view>

#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook {

/// The shape of output `index` of a node whose inputs and attributes are there.
using ShapeRule = PartialShape (*)(const NodeSpec& node, std::size_t index);

/// An op type by its signature, `inputs -> outputs`, for example `T T -> T`. A word is a dtype (`int32`, `string`,
/// ...), an attribute that holds one (`T`), one that holds a list of them (`output_types`), or either repeated (`N*T`).
/// `index` is int32 or int64, `any` is any dtype, `resource` the handle of a state.
struct OpDef {
  std::string_view type{};
  std::string_view signature{};
  ShapeRule shape = nullptr;  ///< null: not known before the graph runs
};

namespace detail {

/// The attribute of a node that is not in a graph yet. @throws InvalidArgumentError where it has none of that kind.
template <class T>
[[nodiscard]] const T& attr_of(const NodeSpec& node, std::string_view key) {
  const auto found = node.attrs.find(key);
  if (found != node.attrs.end()) {
    if (const T* value = std::get_if<T>(&found->second)) return *value;
  }
  throw InvalidArgumentError("node '{}' ({}) has no attribute {} of the kind that its op type wants", node.name,
                             node.type, key);
}

/// Checks the inputs of a node against its signature, and gives it the outputs that this names.
/// @throws InvalidArgumentError, naming node, op type and input, where they do not fit.
TRAINHOOK_DECL void resolve_outputs(NodeSpec& node, const OpDef& def);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph_def/impl/op_def.ipp>
#endif
