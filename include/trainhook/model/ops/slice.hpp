// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ops that take parts of tensors or enlarge them: slice, pad, tile, fill, broadcast_to, where.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>
#include <trainhook/graph/operand.hpp>

namespace trainhook {
namespace detail {

/// Pad, Select, SelectV2, Slice, Tile.
[[nodiscard]] TRAINHOOK_DECL OpFamily slice_ops() noexcept;

/// `Slice` with tensors as bounds, and a result of shape `shape`.
TRAINHOOK_DECL Output slice_with(const Output& x, const Output& begin, const Output& extents,
                                 const PartialShape& shape);

}  // namespace detail

/// The part of `x` that starts at `begin` and has extents `size`; -1 means up to the end. Source: `tf.slice`.
TRAINHOOK_DECL Output slice(Output x, const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& size,
                            std::string_view name = "Slice");

/// The number of zeros before and after a dimension.
using PadAmount = std::array<std::int64_t, 2>;

/// `x` with zeros around it. Source: `tf.pad`, mode CONSTANT.
TRAINHOOK_DECL Output pad(Output x, const std::vector<PadAmount>& paddings, std::string_view name = "Pad");

/// `x` repeated `multiples[i]` times along dimension i. Source: `tf.tile`.
TRAINHOOK_DECL Output tile(Output x, const std::vector<std::int64_t>& multiples, std::string_view name = "Tile");

/// Takes each element from `if_true` if `condition` is true, or else from `if_false`; all three broadcast. Source:
/// `tf.where` with three arguments.
TRAINHOOK_DECL Output where(Output condition, const Operand& if_true, const Operand& if_false,
                            std::string_view name = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/ops/impl/slice.ipp>
#endif
