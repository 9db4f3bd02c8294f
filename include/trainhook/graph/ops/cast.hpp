// SPDX-License-Identifier: Apache-2.0
/// @file
/// The op that converts a tensor to another dtype.
#pragma once

#include <string_view>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook {
namespace detail {

/// Cast.
[[nodiscard]] TRAINHOOK_DECL OpFamily cast_ops() noexcept;

}  // namespace detail

/// Converts `x` to another dtype. If `x` has that dtype already, the result is `x` itself. Source: `tf.cast`.
TRAINHOOK_DECL Output cast(Output x, DType dtype, std::string_view name = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/ops/impl/cast.ipp>
#endif
