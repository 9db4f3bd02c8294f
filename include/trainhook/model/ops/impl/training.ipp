// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/ops/training.hpp>

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include <trainhook/core/shape.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/cast.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>
#include <trainhook/model/ops/array.hpp>

namespace trainhook::detail {

PartialShape applied_shape(const NodeSpec& node, std::size_t num_slots, std::size_t gradient) {
  std::vector<Output> alike;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (i <= num_slots || i == gradient) {
      alike.push_back(node.inputs[i]);
    } else {
      require_rank(label(node), node.inputs[i], 0);
    }
  }
  return merged_shapes(label(node), alike);
}

inline constexpr OpDef kApplyAdagradOp{"ApplyAdagrad", "T T T T -> T",
                                       "T:number update_slots:bool=true use_locking:bool=false", applied<1, 3>};
inline constexpr OpDef kApplyAdamOp{"ApplyAdam", "T T T T T T T T T T -> T",
                                    "T:number use_nesterov:bool=false use_locking:bool=false", applied<2, 9>};
inline constexpr OpDef kApplyCenteredRMSPropOp{"ApplyCenteredRMSProp", "T T T T T T T T T -> T",
                                               "T:number use_locking:bool=false", applied<3, 8>};
inline constexpr OpDef kApplyGradientDescentOp{"ApplyGradientDescent", "T T T -> T", "T:number use_locking:bool=false",
                                               applied<0, 2>};
inline constexpr OpDef kApplyMomentumOp{"ApplyMomentum", "T T T T T -> T",
                                        "T:number use_nesterov:bool=false use_locking:bool=false", applied<1, 3>};
inline constexpr OpDef kApplyRMSPropOp{"ApplyRMSProp", "T T T T T T T T -> T", "T:number use_locking:bool=false",
                                       applied<2, 7>};

inline constexpr std::array kTrainingOps{&kApplyAdagradOp,         &kApplyAdamOp,     &kApplyCenteredRMSPropOp,
                                         &kApplyGradientDescentOp, &kApplyMomentumOp, &kApplyRMSPropOp};

OpFamily training_ops() noexcept { return kTrainingOps; }

inline Operation apply_op(const OpDef& def, const Variable& variable, std::vector<Output> refs,
                          const std::vector<Output>& numbers, Attrs attrs) {
  std::vector<Output> inputs{variable.ref()};
  inputs.insert(inputs.end(), refs.begin(), refs.end());
  for (const Output& number : numbers) inputs.push_back(cast(number, variable.dtype()));
  return add_op(def, {}, std::move(inputs), std::move(attrs)).operation();
}

Operation apply_adagrad(const Variable& variable, std::vector<Output> refs, const std::vector<Output>& numbers,
                        Attrs attrs) {
  return apply_op(kApplyAdagradOp, variable, std::move(refs), numbers, std::move(attrs));
}

Operation apply_adam(const Variable& variable, std::vector<Output> refs, const std::vector<Output>& numbers,
                     Attrs attrs) {
  return apply_op(kApplyAdamOp, variable, std::move(refs), numbers, std::move(attrs));
}

Operation apply_centered_rms_prop(const Variable& variable, std::vector<Output> refs,
                                  const std::vector<Output>& numbers, Attrs attrs) {
  return apply_op(kApplyCenteredRMSPropOp, variable, std::move(refs), numbers, std::move(attrs));
}

Operation apply_gradient_descent(const Variable& variable, std::vector<Output> refs, const std::vector<Output>& numbers,
                                 Attrs attrs) {
  return apply_op(kApplyGradientDescentOp, variable, std::move(refs), numbers, std::move(attrs));
}

Operation apply_momentum(const Variable& variable, std::vector<Output> refs, const std::vector<Output>& numbers,
                         Attrs attrs) {
  return apply_op(kApplyMomentumOp, variable, std::move(refs), numbers, std::move(attrs));
}

Operation apply_rms_prop(const Variable& variable, std::vector<Output> refs, const std::vector<Output>& numbers,
                         Attrs attrs) {
  return apply_op(kApplyRMSPropOp, variable, std::move(refs), numbers, std::move(attrs));
}

}  // namespace trainhook::detail
