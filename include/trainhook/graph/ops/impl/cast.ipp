// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/graph/ops/cast.hpp>

#include <array>

#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>

namespace trainhook::detail {

inline Grads cast_grad(const GradientContext& context) { return {cast(context.grad(), context.input(0).dtype())}; }

inline constexpr OpDef kCastOp{"Cast", "SrcT -> DstT", "SrcT:{bool,number} DstT:{bool,number} Truncate:bool=false",
                               shape_rules::like<0>, cast_grad};

inline constexpr std::array kCastOps{&kCastOp};

OpFamily cast_ops() noexcept { return kCastOps; }

}  // namespace trainhook::detail

namespace trainhook {

Output cast(Output x, DType dtype, std::string_view name) {
  static_cast<void>(detail::graph_of("Cast", x));
  return x.dtype() == dtype ? x : detail::add_op(detail::kCastOp, name, {x}, {{"DstT", dtype}});
}

}  // namespace trainhook
