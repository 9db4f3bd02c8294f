// SPDX-License-Identifier: Apache-2.0
/// @file
/// The definitions of division that rounds towards zero, and of its remainder.
#pragma once

#include <trainhook/compat/ops.hpp>

#include <array>

#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>

namespace trainhook::detail {

inline constexpr OpDef kTruncateDivOp{"TruncateDiv", "T T -> T", "T:number", shape_rules::broadcast, no_gradient};
inline constexpr OpDef kTruncateModOp{"TruncateMod", "T T -> T", "T:{int32,int64,floating}", shape_rules::broadcast};

inline constexpr std::array kTruncationOps{&kTruncateDivOp, &kTruncateModOp};

OpFamily truncation_ops() noexcept { return kTruncationOps; }

}  // namespace trainhook::detail
