// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ops by which optimizers update variables.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook::detail {

/// ApplyAdagrad, ApplyAdam, ApplyCenteredRMSProp, ApplyGradientDescent, ApplyMomentum, ApplyRMSProp.
[[nodiscard]] TRAINHOOK_DECL std::span<const OpDef> training_ops() noexcept;

/// Adds an update of `variable`: first the variables it changes besides, then numbers and the gradient, which are cast
/// to the dtype of the variable.
TRAINHOOK_DECL Operation apply_op(std::string_view type, const Variable& variable, std::vector<Output> refs,
                                  const std::vector<Output>& numbers, Attrs attrs);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/ops/impl/training.ipp>
#endif
