// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of training.hpp, and the definitions of its ops.
#pragma once

#include <trainhook/graph/ops/training.hpp>

#include <array>
#include <cstddef>
#include <utility>

#include <trainhook/core/shape.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/array.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>

namespace trainhook::detail {

/// The shape of the variable, which its slots (the next `Slots` inputs) and the gradient (input `Gradient`) have too.
/// All other inputs are scalars.
template <std::size_t Slots, std::size_t Gradient>
PartialShape applied(const NodeSpec& node, std::size_t) {
  const Output& variable = node.inputs[0];
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (i <= Slots || i == Gradient) {
      static_cast<void>(merged_shape(label(node), variable, node.inputs[i]));
    } else {
      require_rank(label(node), node.inputs[i], 0);
    }
  }
  return variable.shape();
}

inline constexpr std::array kTrainingOps{
    OpDef{"ApplyAdagrad", "T T T T -> T", "T:number update_slots:bool=true use_locking:bool=false", applied<1, 3>},
    OpDef{"ApplyAdam", "T T T T T T T T T T -> T", "T:number use_nesterov:bool=false use_locking:bool=false",
          applied<2, 9>},
    OpDef{"ApplyCenteredRMSProp", "T T T T T T T T T -> T", "T:number use_locking:bool=false", applied<3, 8>},
    OpDef{"ApplyGradientDescent", "T T T -> T", "T:number use_locking:bool=false", applied<0, 2>},
    OpDef{"ApplyMomentum", "T T T T T -> T", "T:number use_nesterov:bool=false use_locking:bool=false", applied<1, 3>},
    OpDef{"ApplyRMSProp", "T T T T T T T T -> T", "T:number use_locking:bool=false", applied<2, 7>},
};

TRAINHOOK_DECL std::span<const OpDef> training_ops() noexcept { return kTrainingOps; }

TRAINHOOK_DECL Operation apply_op(std::string_view type, const Variable& variable, std::vector<Output> refs,
                                  const std::vector<Output>& numbers, Attrs attrs) {
  std::vector<Output> inputs{variable.ref()};
  inputs.insert(inputs.end(), refs.begin(), refs.end());
  for (const Output& number : numbers) inputs.push_back(cast(number, variable.dtype()));
  return add_op(training_ops(), type, {}, std::move(inputs), std::move(attrs)).operation();
}

}  // namespace trainhook::detail
