// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix products, reductions and argmax.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook {

struct MatMulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
};

/// The product of two matrices, either of them transposed first. Source: `tf.matmul` of rank 2.
/// @throws InvalidArgumentError where the inner dimensions differ.
TRAINHOOK_DECL Output matmul(Output a, Output b, MatMulOptions options = {}, std::string_view name = {});

struct ReduceOptions {
  std::optional<std::vector<std::int64_t>> axis{};  ///< which dimensions go; without a value, all of them
  bool keep_dims = false;                           ///< whether they stay as extents of 1
};

namespace detail {

TRAINHOOK_DECL Output reduction(std::string_view type, const Output& x, const ReduceOptions& options,
                                std::string_view name);
TRAINHOOK_DECL Output arg_extreme(std::string_view type, const Output& x, std::int64_t axis, DType dtype,
                                  std::string_view name);

}  // namespace detail

TRAINHOOK_DECL Output reduce_sum(Output x, const ReduceOptions& options = {}, std::string_view name = {});
TRAINHOOK_DECL Output reduce_mean(Output x, const ReduceOptions& options = {}, std::string_view name = {});
TRAINHOOK_DECL Output reduce_prod(Output x, const ReduceOptions& options = {}, std::string_view name = {});
TRAINHOOK_DECL Output reduce_max(Output x, const ReduceOptions& options = {}, std::string_view name = {});
TRAINHOOK_DECL Output reduce_min(Output x, const ReduceOptions& options = {}, std::string_view name = {});
TRAINHOOK_DECL Output reduce_all(Output x, const ReduceOptions& options = {}, std::string_view name = {});
TRAINHOOK_DECL Output reduce_any(Output x, const ReduceOptions& options = {}, std::string_view name = {});

/// The index of the largest (smallest) element along an axis, the first where several are. Source: `tf.argmax`,
/// `tf.argmin`.
TRAINHOOK_DECL Output argmax(Output x, std::int64_t axis = 0, DType dtype = DType::Int64, std::string_view name = {});
TRAINHOOK_DECL Output argmin(Output x, std::int64_t axis = 0, DType dtype = DType::Int64, std::string_view name = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/matrix_ops.ipp>
#endif
