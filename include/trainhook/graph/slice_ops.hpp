// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ops that cut and enlarge: slice, pad, tile, fill, broadcast_to, where.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/operand.hpp>

namespace trainhook {
namespace detail {

/// The shape that a tensor of dimensions stands for, as far as it is a constant or the known shape of something.
TRAINHOOK_DECL PartialShape shape_in(const Output& dims);

/// The shape of `x` as a tensor: a constant where it is known.
TRAINHOOK_DECL Output shape_tensor(const Output& x);

}  // namespace detail

/// The part of `x` that starts at `begin` and has extents `size`, of which -1 means all that is left. Source:
/// `tf.slice`.
TRAINHOOK_DECL Output slice(Output x, const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& size,
                            std::string_view name = "Slice");

/// How many zeros go before and after a dimension.
using PadAmount = std::array<std::int64_t, 2>;

/// `x` with zeros around it. Source: `tf.pad`, mode CONSTANT.
TRAINHOOK_DECL Output pad(Output x, const std::vector<PadAmount>& paddings, std::string_view name = "Pad");

/// `x` repeated `multiples[i]` times along dimension i. Source: `tf.tile`.
TRAINHOOK_DECL Output tile(Output x, const std::vector<std::int64_t>& multiples, std::string_view name = "Tile");

/// A tensor of shape `dims` whose elements are all the scalar `value`. Source: `tf.fill`.
TRAINHOOK_DECL Output fill(Output dims, Output value, std::string_view name = {});

/// `x` repeated to fill shape `dims`, by NumPy's rules. Source: `tf.broadcast_to`.
TRAINHOOK_DECL Output broadcast_to(Output x, Output dims, std::string_view name = {});

/// Elements of `x` where `condition` holds, of `y` elsewhere; all three broadcast. Source: `tf.where` with three
/// arguments.
TRAINHOOK_DECL Output where(Output condition, const Operand& if_true, const Operand& if_false,
                            std::string_view name = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/slice_ops.ipp>
#endif
