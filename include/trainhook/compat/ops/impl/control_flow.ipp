// SPDX-License-Identifier: Apache-2.0
/// @file
/// The definitions of the branches of `tf.cond`, assertions and Print.
#pragma once

#include <trainhook/compat/ops.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>

namespace trainhook::detail {

inline PartialShape switch_shape(const NodeSpec& node, std::size_t) {
  require_rank(label(node), node.inputs[1], 0);
  return node.inputs[0].shape();
}

/// What the branches that meet agree on, and the number of the branch.
inline PartialShape merge_shape(const NodeSpec& node, std::size_t index) {
  if (index == 1) return Shape{};
  if (node.inputs.empty()) throw InvalidArgumentError("{} has no inputs", label(node));
  const PartialShape& first = node.inputs[0].shape();
  for (const Output& input : node.inputs) {
    if (!first.has_rank() || !input.shape().has_rank() || input.shape().rank() != first.rank()) return {};
  }
  std::vector<std::int64_t> dims = dims_of(first);
  for (const Output& input : node.inputs) {
    for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = dims[i] == input.shape()[i] ? dims[i] : kUnknownDim;
  }
  return shape_of(dims);
}

inline Grads print_grad(const GradientContext& context) {
  Grads result(context.input_count());
  result[0] = context.grad();
  return result;
}

inline constexpr OpDef kAssertOp{"Assert", "bool T ->", "T:types>0 summarize:int=3"};
inline constexpr OpDef kMergeOp{"Merge", "N*T -> T int32", "N:int>0", merge_shape};
inline constexpr OpDef kPrintOp{"Print", "T U -> T", "U:types message:string= first_n:int=-1 summarize:int=3",
                                shape_rules::like<0>, print_grad};
inline constexpr OpDef kPreventGradientOp{"PreventGradient", "T -> T", "message:string=", shape_rules::like<0>};
inline constexpr OpDef kRefIdentityOp{"RefIdentity", "T -> T", "", shape_rules::like<0>};
inline constexpr OpDef kRefSwitchOp{"RefSwitch", "T bool -> T T", "", switch_shape};
inline constexpr OpDef kSwitchOp{"Switch", "T bool -> T T", "", switch_shape};
inline constexpr std::array kBranchOps{&kAssertOp,      &kMergeOp,     &kPreventGradientOp, &kPrintOp,
                                       &kRefIdentityOp, &kRefSwitchOp, &kSwitchOp};

OpFamily branch_ops() noexcept { return kBranchOps; }

}  // namespace trainhook::detail
