// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix products, also of batches, reductions and argmax.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook {

struct MatMulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
};

/// The product of two matrices, each optionally transposed first. If one has a higher rank, the matrices are in the
/// last two dimensions, and the other dimensions broadcast. Source: `tf.matmul`.
/// @throws InvalidArgumentError if the inner dimensions differ.
TRAINHOOK_DECL Output matmul(Output a, Output b, MatMulOptions options = {}, std::string_view name = {});

struct ReduceOptions {
  std::optional<std::vector<std::int64_t>> axis{};  ///< the dimensions to reduce; none: all
  bool keep_dims = false;                           ///< keep them with extent 1
};

namespace detail {

/// MatMul, All, Any, ArgMax, ArgMin, Cumprod, Cumsum, Max, Mean, Min, Prod.
[[nodiscard]] TRAINHOOK_DECL OpFamily matrix_ops() noexcept;

/// The sum over the last dimension, which stays with extent 1.
TRAINHOOK_DECL Output sum_of_last(const Output& x);

/// BatchMatMulV2.
[[nodiscard]] TRAINHOOK_DECL OpFamily batch_matmul_ops() noexcept;

/// The products of the matrices in the last two dimensions, each optionally transposed first; the other dimensions
/// broadcast.
TRAINHOOK_DECL Output batch_matmul(const Output& a, const Output& b, bool transpose_a, bool transpose_b,
                                   std::string_view name);

}  // namespace detail

/// The sum of elements. Source: `tf.reduce_sum`.
TRAINHOOK_DECL Output reduce_sum(Output x, const ReduceOptions& options = {}, std::string_view name = {});
/// The mean of elements. Source: `tf.reduce_mean`.
TRAINHOOK_DECL Output reduce_mean(Output x, const ReduceOptions& options = {}, std::string_view name = {});
/// The product of elements. Source: `tf.reduce_prod`.
TRAINHOOK_DECL Output reduce_prod(Output x, const ReduceOptions& options = {}, std::string_view name = {});
/// The largest element. Source: `tf.reduce_max`.
TRAINHOOK_DECL Output reduce_max(Output x, const ReduceOptions& options = {}, std::string_view name = {});
/// The smallest element. Source: `tf.reduce_min`.
TRAINHOOK_DECL Output reduce_min(Output x, const ReduceOptions& options = {}, std::string_view name = {});
/// Whether all elements, bools, are true. Source: `tf.reduce_all`.
TRAINHOOK_DECL Output reduce_all(Output x, const ReduceOptions& options = {}, std::string_view name = {});
/// Whether any element, a bool, is true. Source: `tf.reduce_any`.
TRAINHOOK_DECL Output reduce_any(Output x, const ReduceOptions& options = {}, std::string_view name = {});

struct CumulativeOptions {
  std::int64_t axis = 0;
  bool exclusive = false;  ///< excludes the element itself
  bool reverse = false;    ///< starts from the end of the axis
};

/// The sum of each element and those before it along an axis. Source: `tf.cumsum`.
TRAINHOOK_DECL Output cumsum(Output x, const CumulativeOptions& options = {}, std::string_view name = {});
/// The product of each element and those before it along an axis. Source: `tf.math.cumprod`.
TRAINHOOK_DECL Output cumprod(Output x, const CumulativeOptions& options = {}, std::string_view name = {});

/// The index of the largest element along an axis; of equal ones the first. Source: `tf.argmax`.
TRAINHOOK_DECL Output argmax(Output x, std::int64_t axis = 0, DType dtype = DType::Int64, std::string_view name = {});
/// The index of the smallest element along an axis; of equal ones the first. Source: `tf.argmin`.
TRAINHOOK_DECL Output argmin(Output x, std::int64_t axis = 0, DType dtype = DType::Int64, std::string_view name = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/ops/impl/matrix.ipp>
#include <trainhook/model/ops/impl/batch_matmul.ipp>
#endif
