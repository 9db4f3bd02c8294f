// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ops that split or reverse a tensor along a dimension.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook {
namespace detail {

/// ReverseV2, Split, SplitV.
[[nodiscard]] TRAINHOOK_DECL OpFamily split_ops() noexcept;

}  // namespace detail

/// Splits `x` into `count` equal parts along `axis`. Source: `tf.split` with a number of parts.
/// @throws InvalidArgumentError if the dimension is not a multiple of `count`.
TRAINHOOK_DECL std::vector<Output> split(Output x, std::int64_t count, std::int64_t axis = 0,
                                         std::string_view name = "split");

/// Splits `x` into parts of `sizes` along `axis`; one size may be -1, the rest. Source: `tf.split` with sizes.
/// @throws InvalidArgumentError if the sizes do not add up to the dimension.
TRAINHOOK_DECL std::vector<Output> split(Output x, const std::vector<std::int64_t>& sizes, std::int64_t axis = 0,
                                         std::string_view name = "split");

/// Reverses `x` along each of `axis`. Source: `tf.reverse`.
TRAINHOOK_DECL Output reverse(Output x, const std::vector<std::int64_t>& axis, std::string_view name = "ReverseV2");

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/ops/impl/split.ipp>
#endif
