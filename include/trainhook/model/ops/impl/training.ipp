// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of training.hpp, and the definitions of its ops.
#pragma once

#include <trainhook/model/ops/training.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <trainhook/core/shape.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/cast.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>
#include <trainhook/model/ops/array.hpp>

namespace trainhook::detail {

/// The shape of the variable, which its slots (the next `Slots` inputs) and the gradient (input `Gradient`) have too.
/// All other inputs are scalars.
template <std::size_t Slots, std::size_t Gradient>
PartialShape applied(const NodeSpec& node, std::size_t) {
  std::vector<Output> alike;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (i <= Slots || i == Gradient) {
      alike.push_back(node.inputs[i]);
    } else {
      require_rank(label(node), node.inputs[i], 0);
    }
  }
  return merged_shapes(label(node), alike);
}

/// As `applied`, but the gradient is of the rows that the vector behind it, input `Gradient + 1`, names.
template <std::size_t Slots, std::size_t Gradient>
PartialShape applied_to_rows(const NodeSpec& node, std::size_t) {
  const Output& variable = node.inputs[0];
  const Output& gradient = node.inputs[Gradient];
  const Output& indices = node.inputs[Gradient + 1];
  for (std::size_t i = Slots + 1; i < node.inputs.size(); ++i) {
    if (i != Gradient) require_rank(label(node), node.inputs[i], i == Gradient + 1 ? 1 : 0);
  }
  const PartialShape whole = merged_shapes(label(node), std::span(node.inputs).first(Slots + 1));
  const PartialShape& rows = gradient.shape();
  if (!rows.has_rank()) return whole;
  Dims dims = dims_of(rows);
  bool fits = !dims.empty() && (!indices.shape().has_rank() || may_equal(dims[0], indices.shape()[0]));
  if (fits) dims[0] = kUnknownDim;
  fits = fits && whole.compatible_with(shape_of(dims));
  if (!fits)
    throw InvalidArgumentError("{}: {} is not a gradient of the rows {} of {}", label(node), gradient, indices,
                               variable);
  return merge(whole, shape_of(dims));
}

inline constexpr OpDef kApplyAdadeltaOp{"ApplyAdadelta", "T T T T T T T -> T", "T:number use_locking:bool=false",
                                        applied<2, 6>};
inline constexpr OpDef kApplyFtrlOp{"ApplyFtrl", "T T T T T T T T -> T",
                                    "T:number use_locking:bool=false multiply_linear_by_lr:bool=false", applied<2, 3>};
inline constexpr OpDef kSparseApplyAdadeltaOp{"SparseApplyAdadelta", "T T T T T T T Tindices -> T",
                                              "T:number Tindices:{int32,int64} use_locking:bool=false",
                                              applied_to_rows<2, 6>};
inline constexpr OpDef kApplyProximalAdagradOp{"ApplyProximalAdagrad", "T T T T T T -> T",
                                               "T:number use_locking:bool=false", applied<1, 5>};
inline constexpr OpDef kApplyProximalGradientDescentOp{"ApplyProximalGradientDescent", "T T T T T -> T",
                                                       "T:number use_locking:bool=false", applied<0, 4>};
inline constexpr OpDef kSparseApplyMomentumOp{
    "SparseApplyMomentum", "T T T T Tindices T -> T",
    "T:number Tindices:{int32,int64} use_locking:bool=false use_nesterov:bool=false", applied_to_rows<1, 3>};
inline constexpr OpDef kSparseApplyRMSPropOp{"SparseApplyRMSProp", "T T T T T T T T Tindices -> T",
                                             "T:number Tindices:{int32,int64} use_locking:bool=false",
                                             applied_to_rows<2, 7>};
inline constexpr OpDef kSparseApplyAdagradOp{
    "SparseApplyAdagrad", "T T T T Tindices -> T",
    "T:number Tindices:{int32,int64} use_locking:bool=false update_slots:bool=true", applied_to_rows<1, 3>};
inline constexpr OpDef kSparseApplyFtrlOp{
    "SparseApplyFtrl", "T T T T Tindices T T T T -> T",
    "T:number Tindices:{int32,int64} use_locking:bool=false multiply_linear_by_lr:bool=false", applied_to_rows<2, 3>};
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

inline constexpr std::array kTrainingOps{&kApplyProximalAdagradOp,
                                         &kApplyProximalGradientDescentOp,
                                         &kSparseApplyMomentumOp,
                                         &kSparseApplyRMSPropOp,
                                         &kApplyAdadeltaOp,
                                         &kApplyFtrlOp,
                                         &kSparseApplyAdadeltaOp,
                                         &kSparseApplyAdagradOp,
                                         &kSparseApplyFtrlOp,
                                         &kApplyAdagradOp,
                                         &kApplyAdamOp,
                                         &kApplyCenteredRMSPropOp,
                                         &kApplyGradientDescentOp,
                                         &kApplyMomentumOp,
                                         &kApplyRMSPropOp};

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
