// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ops with which optimizers update variables.
#pragma once

#include <cstddef>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook::detail {

/// The shape of the variable, which its slots (the next `num_slots` inputs) and the gradient (input `gradient`) have
/// too.
/// All other inputs are scalars.
[[nodiscard]] TRAINHOOK_DECL PartialShape applied_shape(const NodeSpec& node, std::size_t num_slots,
                                                        std::size_t gradient);

template <std::size_t Slots, std::size_t Gradient>
PartialShape applied(const NodeSpec& node, std::size_t /*index*/) {
  return applied_shape(node, Slots, Gradient);
}

/// ApplyAdagrad, ApplyAdam, ApplyCenteredRMSProp, ApplyGradientDescent, ApplyMomentum, ApplyRMSProp.
[[nodiscard]] TRAINHOOK_DECL OpFamily training_ops() noexcept;

/// Each adds an update of `variable`: `refs` are further variables that it changes, `numbers` its other inputs,
/// including the gradient, which are cast to the variable's dtype.
TRAINHOOK_DECL Operation apply_adagrad(const Variable& variable, std::vector<Output> refs,
                                       const std::vector<Output>& numbers, Attrs attrs = {});
TRAINHOOK_DECL Operation apply_adam(const Variable& variable, std::vector<Output> refs,
                                    const std::vector<Output>& numbers, Attrs attrs = {});
TRAINHOOK_DECL Operation apply_centered_rms_prop(const Variable& variable, std::vector<Output> refs,
                                                 const std::vector<Output>& numbers, Attrs attrs = {});
TRAINHOOK_DECL Operation apply_gradient_descent(const Variable& variable, std::vector<Output> refs,
                                                const std::vector<Output>& numbers, Attrs attrs = {});
TRAINHOOK_DECL Operation apply_momentum(const Variable& variable, std::vector<Output> refs,
                                        const std::vector<Output>& numbers, Attrs attrs = {});
TRAINHOOK_DECL Operation apply_rms_prop(const Variable& variable, std::vector<Output> refs,
                                        const std::vector<Output>& numbers, Attrs attrs = {});

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/ops/impl/training.ipp>
#endif
