// SPDX-License-Identifier: Apache-2.0
/// @file
/// The product of two batches of matrices, which `matmul` uses for tensors of higher rank.
#pragma once

#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook::detail {

/// BatchMatMulV2.
[[nodiscard]] TRAINHOOK_DECL OpFamily batch_matmul_ops() noexcept;

/// The products of the matrices in the last two dimensions, each optionally transposed first; the other dimensions
/// broadcast.
TRAINHOOK_DECL Output batch_matmul(const Output& a, const Output& b, bool transpose_a, bool transpose_b,
                                   std::string_view name);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/ops/impl/batch_matmul.ipp>
#endif
