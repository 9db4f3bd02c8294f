// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ops that rearrange elements, for imported graphs: space, depth and batch, padding, sequences, bands.
#pragma once

#include <cstdint>
#include <optional>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook::detail {

/// The extent of a dimension after padding; nothing if a number is negative or the result exceeds 63 bits.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::int64_t> padded(std::int64_t extent, std::int64_t before,
                                                                std::int64_t after) noexcept;

/// The extent of a dimension after cropping; nothing if it is too small.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::int64_t> cropped(std::int64_t extent, std::int64_t before,
                                                                 std::int64_t after) noexcept;

/// The number of blocks of `size` elements in `padded()`; nothing if it is not a multiple.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::int64_t> blocks_in(std::int64_t extent, std::int64_t before,
                                                                   std::int64_t after, std::int64_t size) noexcept;

/// The number of elements of `blocks` blocks of `size` after `cropped()`; the inverse of `blocks_in()`.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::int64_t> elements_in(std::int64_t blocks, std::int64_t before,
                                                                     std::int64_t after, std::int64_t size) noexcept;

/// BatchToSpaceND, DepthToSpace, MatrixBandPart, MirrorPad, MirrorPadGrad, PadV2, ReverseSequence, SpaceToBatchND,
/// SpaceToDepth.
[[nodiscard]] TRAINHOOK_DECL OpFamily rearrange_ops() noexcept;

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/ops/impl/rearrange.ipp>
#endif
