// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ops that describe or rearrange a tensor: shape, reshape, transpose, squeeze and others.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook {

/// The shape of `x` when the graph runs, as an int32 vector. Source: `tf.shape`.
TRAINHOOK_DECL Output shape(Output x, std::string_view name = {});

/// The number of elements of `x` when the graph runs, as an int32 scalar. Source: `tf.size`.
TRAINHOOK_DECL Output size(Output x, std::string_view name = {});

/// The number of dimensions of `x` when the graph runs, as an int32 scalar. Source: `tf.rank`.
TRAINHOOK_DECL Output rank(Output x, std::string_view name = {});

namespace detail {

/// ExpandDims, InvertPermutation, OneHot, Range, Rank, Reshape, Shape, ShapeN, Size, Squeeze, Transpose.
[[nodiscard]] TRAINHOOK_DECL OpFamily array_ops() noexcept;

/// The number of integers `start`, `start + delta`, ... before `limit`; kUnknownDim if `delta` does not lead to
/// `limit`, or there are too many.
TRAINHOOK_DECL std::int64_t integers_in_range(std::int64_t start, std::int64_t limit, std::int64_t delta);

/// The shape of `x` as a tensor: a constant if it is known.
TRAINHOOK_DECL Output shape_tensor(const Output& x);

/// The shape of `x` when the graph runs, as a vector of `dtype`.
TRAINHOOK_DECL Output shape_as(const Output& x, DType dtype);

/// Reshapes `x` to the vector `to`; `known` is what is known of it.
TRAINHOOK_DECL Output reshape_to(const Output& x, const Output& to, const PartialShape& known);

/// Reshapes `grad` to the shape of `x`, which has the same number of elements.
TRAINHOOK_DECL Output reshape_like(const Output& grad, const Output& x);

}  // namespace detail

/// The numbers `start`, `start + delta`, ... before `limit`; three scalars of one dtype. Source: `tf.range`.
TRAINHOOK_DECL Output range(Output start, Output limit, Output delta, std::string_view name = {});

/// Reshapes `x` to the dimensions in the vector `to`. Source: `tf.reshape`.
TRAINHOOK_DECL Output reshape(Output x, Output to, std::string_view name = {});

/// Reshapes `x` to `dims`, of which one may be -1: it follows from the others. Source: `tf.reshape`.
TRAINHOOK_DECL Output reshape(Output x, const std::vector<std::int64_t>& dims, std::string_view name = {});

/// Dimension `i` of the result is dimension `perm[i]` of `x`; without `perm` the dimensions are reversed. Source:
/// `tf.transpose`.
TRAINHOOK_DECL Output transpose(Output x, std::vector<std::int64_t> perm = {}, std::string_view name = "transpose");

/// `x` with a dimension of extent 1 inserted at `axis`. Source: `tf.expand_dims`.
TRAINHOOK_DECL Output expand_dims(Output x, std::int64_t axis, std::string_view name = "ExpandDims");

/// Removes the dimensions `axis`, each of extent 1; without `axis`, all dimensions of extent 1. Source: `tf.squeeze`.
TRAINHOOK_DECL Output squeeze(Output x, const std::vector<std::int64_t>& axis = {}, std::string_view name = {});

struct OneHotOptions {
  double on_value = 1;
  double off_value = 0;
  DType dtype = DType::Float;
  std::int64_t axis = -1;
};
/// Replaces each index by a vector of `depth` elements: the one at the index is `on_value`, all others are `off_value`.
/// Source: `tf.one_hot`.
TRAINHOOK_DECL Output one_hot(Output indices, std::int64_t depth, const OneHotOptions& options = {},
                              std::string_view name = "one_hot");

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/ops/impl/array.ipp>
#endif
