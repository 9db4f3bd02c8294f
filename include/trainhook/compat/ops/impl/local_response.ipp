// SPDX-License-Identifier: Apache-2.0
/// @file
/// The definitions of local response normalization and its gradient.
#pragma once

#include <trainhook/compat/ops.hpp>

#include <array>
#include <cstddef>
#include <string_view>

#include <trainhook/core/shape.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>

namespace trainhook::detail {

inline PartialShape lrn_shape(const NodeSpec& node, std::size_t) {
  for (const Output& input : node.inputs) require_rank(label(node), input, 4);
  const PartialShape shape = shape_rules::merged(node, 0);
  return shape.has_rank() ? shape : unknown_of_rank(4);
}

inline constexpr std::string_view kLrnAttrs =
    "depth_radius:int=5 bias:float=1 alpha:float=1 beta:float=0.5 T:{float16,bfloat16,float32}=float32";
inline constexpr OpDef kLRNGradOp{"LRNGrad", "T T T -> T", kLrnAttrs, lrn_shape};

inline Grads lrn_grad(const GradientContext& context) {
  return {add_op(kLRNGradOp, {}, {context.grad(), context.input(0), context.output()}, context.node().attrs())};
}
inline constexpr OpDef kLRNOp{"LRN", "T -> T", kLrnAttrs, lrn_shape, lrn_grad};

inline constexpr std::array kLocalResponseOps{&kLRNOp, &kLRNGradOp};

OpFamily local_response_ops() noexcept { return kLocalResponseOps; }

}  // namespace trainhook::detail
