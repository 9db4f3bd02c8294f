// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ops that repeat a tensor along dimensions, and the sum that is their gradient.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>

namespace trainhook {
namespace detail {

/// BroadcastGradientArgs, BroadcastTo, Fill, Sum.
[[nodiscard]] TRAINHOOK_DECL OpFamily broadcast_ops() noexcept;

[[nodiscard]] TRAINHOOK_DECL const OpDef& sum_op() noexcept;

/// `grad` summed over `axes`.
TRAINHOOK_DECL Output sum_over(const Output& grad, const Dims& axes, bool keep_dims);

/// Sums `grad`, which has the broadcast shape of `x` and `other`, to the shape of `x`.
TRAINHOOK_DECL Output unbroadcast(const Output& grad, const Output& x, const Output& other);

/// The axes over which a gradient of the broadcast shape of vectors `x` and `other`, two shapes, is summed to fit `x`.
TRAINHOOK_DECL Output broadcast_gradient_axes(const Output& x, const Output& other);

/// `grad` summed over the axes that a run gives.
TRAINHOOK_DECL Output sum_over(const Output& grad, const Output& axes);

/// The scalar of `grad` if `grad` is a Fill, or else an empty output. Multiplying by the scalar needs no broadcast.
TRAINHOOK_DECL Output fill_value(const Output& grad);

/// The axes of a reduction, counted from the front; nothing if they are not constant or the rank is unknown.
TRAINHOOK_DECL std::optional<std::vector<std::size_t>> reduced_axes(std::string_view op, const Output& x,
                                                                    const Output& indices);

/// The shape of a reduction of input 0 over the axes in input 1.
TRAINHOOK_DECL PartialShape reduction_shape(const NodeSpec& node, std::size_t);

/// The axes of the reduction. @throws UnimplementedError if they are not constant or the rank is unknown.
TRAINHOOK_DECL std::vector<std::size_t> reduction_axes(const GradientContext& context);

/// `value`, a result of the reduction (or its gradient), with the reduced dimensions as extents of 1.
TRAINHOOK_DECL Output with_kept_dims(const GradientContext& context, const Output& value,
                                     const std::vector<std::size_t>& axes);

/// The gradient of a sum spread over the elements that went into it.
TRAINHOOK_DECL Output spread(const GradientContext& context, const Output& grad, const std::vector<std::size_t>& axes);

}  // namespace detail

/// A tensor of shape `dims` whose elements are all the scalar `value`. Source: `tf.fill`.
TRAINHOOK_DECL Output fill(Output dims, Output value, std::string_view name = {});

/// `x` repeated to shape `dims` by NumPy's rules. Source: `tf.broadcast_to`.
TRAINHOOK_DECL Output broadcast_to(Output x, Output dims, std::string_view name = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/ops/impl/broadcast.ipp>
#endif
