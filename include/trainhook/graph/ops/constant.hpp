// SPDX-License-Identifier: Apache-2.0
/// @file
/// Constants and placeholders, through which values enter a graph.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook {

/// A value that never changes. Source: `tf.constant`.
TRAINHOOK_DECL Output constant(Graph& graph, const Tensor& value, std::string_view name = "Const");

/// A value that every run must feed. Source: `tf.compat.v1.placeholder`.
TRAINHOOK_DECL Output placeholder(Graph& graph, DType dtype, const PartialShape& shape = {},
                                  std::string_view name = "Placeholder");

/// The value of `input` in runs that do not feed this output. Source: `tf.compat.v1.placeholder_with_default`.
/// @throws InvalidArgumentError if `input` cannot have the shape.
TRAINHOOK_DECL Output placeholder_with_default(Output input, const PartialShape& shape,
                                               std::string_view name = "PlaceholderWithDefault");

namespace detail {

/// Const, Placeholder, PlaceholderWithDefault, ZerosLike, OnesLike.
[[nodiscard]] TRAINHOOK_DECL OpFamily constant_ops() noexcept;

/// A tensor whose elements are all `value`. @throws UnimplementedError for strings and 16-bit floats, and as
/// `number_as`.
TRAINHOOK_DECL Tensor filled_tensor(DType dtype, const Shape& shape, long double value);

TRAINHOOK_DECL Output constant_ints(Graph& graph, const std::vector<std::int64_t>& values, std::string_view name);
TRAINHOOK_DECL Output constant_int(Graph& graph, std::int64_t value, std::string_view name);

}  // namespace detail

/// A constant of zeros. Source: `tf.zeros`.
TRAINHOOK_DECL Output zeros(Graph& graph, const Shape& shape, DType dtype = DType::Float,
                            std::string_view name = "zeros");
/// A constant of ones. Source: `tf.ones`.
TRAINHOOK_DECL Output ones(Graph& graph, const Shape& shape, DType dtype = DType::Float,
                           std::string_view name = "ones");

/// Zeros with the dtype and the shape of `x`, known or not. Source: `tf.zeros_like`.
TRAINHOOK_DECL Output zeros_like(Output x, std::string_view name = {});
/// Ones with the dtype and the shape of `x`, known or not. Source: `tf.ones_like`.
TRAINHOOK_DECL Output ones_like(Output x, std::string_view name = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/ops/impl/constant.ipp>
#endif
