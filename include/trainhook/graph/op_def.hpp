// SPDX-License-Identifier: Apache-2.0
/// @file
/// OpDef: the definition of an op type. Builders and imported graphs add nodes by it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook {

class GradientContext;

/// Returns the shape of output `index` of a node whose inputs and attributes are complete, as far as it is known.
/// Throws InvalidArgumentError if the inputs do not fit together.
using ShapeRule = PartialShape (*)(const NodeSpec& node, std::size_t index);

/// Adds the gradient of an operation to its graph: one output for each input, without value if none flows.
using GradientRule = std::vector<Output> (*)(const GradientContext& context);

/// The definition of an op type. `Graph::add(const OpDef&, NodeSpec)` checks a node against it and works out what the
/// node gives, no matter whether a builder or an imported graph adds the node.
struct OpDef {
  std::string_view type{};

  /// `inputs -> outputs`, for example `T T -> T`. A word is a dtype (`int32`, `string`, ...), an attribute that
  /// holds one (`T`) or a list of them (`output_types`), either of these repeated (`N*T`), `any` dtype, or `resource`,
  /// the handle of a state.
  std::string_view signature{};

  /// The attributes, `name:kind` or `name:kind=default`, separated by spaces; those that only the signature names may
  /// be left out here. A kind is `int`, `float`, `bool`, `string`, `shape`, `tensor`, `ints`, `types`, `shapes`, or
  /// what dtypes are allowed: `type` (any), `number`, `real`, `floating`, `inexact` (floating or complex), the name of
  /// one, or a list such as `{uint8,floating}`. TensorFlow leaves attributes out of files if they have their default.
  std::string_view attrs{};

  ShapeRule shape = nullptr;        ///< null: the shape of no output is known before the graph runs
  GradientRule gradient = nullptr;  ///< null: `gradients()` refuses to pass the op
};

namespace detail {

/// The ops that one header declares builders of, `kMatMulOp` and so on: what ops/registry.hpp finds op types in.
using OpFamily = std::span<const OpDef* const>;

/// Returns the attribute of a node that is not in a graph yet. @throws InvalidArgumentError if it has none of that
/// kind.
template <class T>
[[nodiscard]] const T& attr_of(const NodeSpec& node, std::string_view key) {
  const auto found = node.attrs.find(key);
  if (found != node.attrs.end()) {
    if (const T* value = std::get_if<T>(&found->second)) return *value;
  }
  throw InvalidArgumentError("node '{}' ({}) has no attribute {} of the kind that its op type wants", node.name,
                             node.type, key);
}

/// Returns how messages call a node that is being added: `node 'dense/MatMul' (MatMul)`, or the type if it has no name.
[[nodiscard]] TRAINHOOK_DECL std::string label(const NodeSpec& node);

/// Sets the dtype attributes and repeat counts that follow from the inputs, so that builders need not name them.
TRAINHOOK_DECL void infer_attrs(NodeSpec& node, const OpDef& def);

/// Returns the dtypes of the inputs that a node of these attributes takes, Invalid for a resource and for any dtype.
/// @throws InvalidArgumentError if attributes are missing.
[[nodiscard]] TRAINHOOK_DECL std::vector<DType> input_dtypes(NodeSpec node, const OpDef& def);

/// Adds attributes that are left out, checks attributes and inputs, and sets the outputs. Outputs that are there
/// already give shapes that are known from elsewhere. @throws InvalidArgumentError, naming node and input, if they do
/// not fit.
TRAINHOOK_DECL void complete(NodeSpec& node, const OpDef& def);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/op_def.ipp>
#endif
