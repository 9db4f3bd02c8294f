// SPDX-License-Identifier: Apache-2.0
/// @file
/// OpDef: the definition of an op type, which builders and the import of graphs use.
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
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook {

class GradientContext;

/// Returns the shape of output `index` of a node whose inputs and attributes are complete, as far as it is known.
/// Throws InvalidArgumentError if the inputs do not fit together.
using ShapeRule = PartialShape (*)(const NodeSpec& node, std::size_t index);

/// Adds the gradients of an operation to its graph and returns one output per input; empty if no gradient flows.
using GradientRule = std::vector<Output> (*)(const GradientContext& context);

/// Computes the only output of a node from the values of its inputs, for a plain loop, which has no engine.
using HostRule = Tensor (*)(const Node& node, std::span<const Tensor> inputs);

/// The definition of an op type. `Graph::add(const OpDef&, NodeSpec)` checks a node against it and infers its outputs,
/// for builders and imported graphs alike.
struct OpDef {
  std::string_view type{};

  /// `inputs -> outputs`, for example `T T -> T`. A word is a dtype (`int32`, `string`, ...), an attribute that holds
  /// one (`T`) or a list of them (`output_types`), either of these repeated (`N*T`), `any` dtype, or `resource`, the
  /// handle of state such as a queue.
  std::string_view signature{};

  /// The attributes, `name:kind` or `name:kind=default`, separated by spaces; those that only the signature names may
  /// be left out here. A kind is `int`, `float`, `bool`, `string`, `shape`, `tensor`, `ints`, `floats`, `types`,
  /// `shapes`, or what dtypes are allowed: `type` (any), `number`, `real`, `floating`, `inexact` (floating or complex),
  /// the name of one, or a list such as `{uint8,floating}`. `int>0` and `types>0` ask for a larger number, or a longer
  /// list, than the digit; `string{SAME,VALID}` lists what is allowed. TensorFlow leaves attributes out of files if
  /// they have their default.
  std::string_view attrs{};

  ShapeRule shape = nullptr;        ///< null: the outputs' shapes are unknown until the graph runs
  GradientRule gradient = nullptr;  ///< null: `gradients()` throws for the op
  HostRule on_host = nullptr;       ///< null: a LoopSession throws for the op
};

namespace detail {

/// The attribute of an imported node that cannot run although its op type is known: the reason, a text.
inline constexpr std::string_view kCannotRun = "_cannot_run";

/// The ops of one header, such as `kMatMulOp`; `compat::ops()` lists all families.
using OpFamily = std::span<const OpDef* const>;

/// Returns a label of a node for messages: `node 'dense/MatMul' (MatMul)`, or the type if it has no name.
[[nodiscard]] TRAINHOOK_DECL std::string label(const NodeSpec& node);

/// Returns an attribute of a node that is not in a graph yet. @throws InvalidArgumentError if it has no such attribute
/// of that type.
template <class T>
[[nodiscard]] const T& attr_of(const NodeSpec& node, std::string_view key) {
  const auto found = node.attrs.find(key);
  if (found != node.attrs.end()) {
    if (const T* value = std::get_if<T>(&found->second)) return *value;
  }
  throw InvalidArgumentError("{} has no attribute {} of the kind that its op type wants", label(node), key);
}

/// Sets the dtype attributes and repeat counts that follow from the inputs.
TRAINHOOK_DECL void infer_attrs(NodeSpec& node, const OpDef& def);

/// Returns the dtypes of the inputs of a node with these attributes; Invalid for a resource or any dtype.
/// @throws InvalidArgumentError if attributes are missing.
[[nodiscard]] TRAINHOOK_DECL std::vector<DType> input_dtypes(NodeSpec node, const OpDef& def);

/// Adds missing attributes, checks attributes and inputs, and sets the outputs. Existing outputs may give shapes that
/// the definition cannot infer. @throws InvalidArgumentError, naming node and input, if they do not fit.
TRAINHOOK_DECL void complete(NodeSpec& node, const OpDef& def);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/op_def.ipp>
#endif
