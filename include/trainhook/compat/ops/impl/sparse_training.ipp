// SPDX-License-Identifier: Apache-2.0
/// @file
/// The definitions of updates of rows of variables, and of Adadelta, Ftrl and the proximal optimizers.
#pragma once

#include <trainhook/compat/ops.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>
#include <trainhook/model/ops/training.hpp>

namespace trainhook::detail {

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

/// The shape of the variable. Each index names a row of it; updates hold such rows, or are one number for all.
inline PartialShape scatter_shape(const NodeSpec& node, std::size_t) {
  const PartialShape& variable = node.inputs[0].shape();
  const PartialShape& indices = node.inputs[1].shape();
  const PartialShape& updates = node.inputs[2].shape();
  const bool is_known = variable.has_rank() && indices.has_rank() && updates.has_rank();
  if (!is_known || updates.rank() == 0) return variable;
  Dims dims = dims_of(indices);
  if (variable.rank() > 0) dims.insert(dims.end(), variable.dims().begin() + 1, variable.dims().end());
  if (variable.rank() == 0 || !shape_of(dims).compatible_with(updates)) {
    throw InvalidArgumentError("{}: {} are not rows of {} for indices {}", label(node), node.inputs[2], node.inputs[0],
                               node.inputs[1]);
  }
  return variable;
}

inline constexpr OpDef kApplyAdadeltaOp{"ApplyAdadelta", "T T T T T T T -> T", "T:number use_locking:bool=false",
                                        applied<2, 6>};
inline constexpr OpDef kApplyAdagradV2Op{"ApplyAdagradV2", "T T T T T -> T",
                                         "T:number use_locking:bool=false update_slots:bool=true", applied<1, 4>};
inline constexpr OpDef kApplyFtrlV2Op{"ApplyFtrlV2", "T T T T T T T T T -> T",
                                      "T:number use_locking:bool=false multiply_linear_by_lr:bool=false",
                                      applied<2, 3>};
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
inline constexpr OpDef kSparseApplyAdagradV2Op{
    "SparseApplyAdagradV2", "T T T T T Tindices -> T",
    "T:number Tindices:{int32,int64} use_locking:bool=false update_slots:bool=true", applied_to_rows<1, 4>};
inline constexpr OpDef kSparseApplyFtrlV2Op{
    "SparseApplyFtrlV2", "T T T T Tindices T T T T T -> T",
    "T:number Tindices:{int32,int64} use_locking:bool=false multiply_linear_by_lr:bool=false", applied_to_rows<2, 3>};
inline constexpr OpDef kSparseApplyFtrlOp{
    "SparseApplyFtrl", "T T T T Tindices T T T T -> T",
    "T:number Tindices:{int32,int64} use_locking:bool=false multiply_linear_by_lr:bool=false", applied_to_rows<2, 3>};
inline constexpr std::string_view kScatter = "T:number Tindices:{int32,int64}";
inline constexpr OpDef kScatterAddOp{"ScatterAdd", "T Tindices T -> T", kScatter, scatter_shape, no_gradient};
inline constexpr OpDef kScatterSubOp{"ScatterSub", "T Tindices T -> T", kScatter, scatter_shape, no_gradient};
inline constexpr OpDef kScatterUpdateOp{"ScatterUpdate", "T Tindices T -> T", "Tindices:{int32,int64}", scatter_shape,
                                        no_gradient};
inline constexpr std::array kSparseTrainingOps{&kApplyAdadeltaOp,
                                               &kApplyAdagradV2Op,
                                               &kApplyFtrlOp,
                                               &kApplyFtrlV2Op,
                                               &kSparseApplyAdadeltaOp,
                                               &kApplyProximalAdagradOp,
                                               &kApplyProximalGradientDescentOp,
                                               &kSparseApplyMomentumOp,
                                               &kSparseApplyRMSPropOp,
                                               &kSparseApplyAdagradOp,
                                               &kSparseApplyAdagradV2Op,
                                               &kSparseApplyFtrlOp,
                                               &kSparseApplyFtrlV2Op,
                                               &kScatterAddOp,
                                               &kScatterSubOp,
                                               &kScatterUpdateOp};

OpFamily sparse_training_ops() noexcept { return kSparseTrainingOps; }

}  // namespace trainhook::detail
