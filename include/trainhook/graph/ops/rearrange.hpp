// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ops that put elements elsewhere, for imported graphs: blocks, depth and space, mirrors, sequences, bands.
#pragma once

#include <cstdint>
#include <optional>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook::detail {

/// The extent of a dimension with elements added before and after it; nothing if one number is negative or the result
/// is beyond 63 bits.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::int64_t> padded(std::int64_t extent, std::int64_t before,
                                                                std::int64_t after) noexcept;

/// The extent of a dimension without some elements before and after it; nothing if it does not have them.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::int64_t> cropped(std::int64_t extent, std::int64_t before,
                                                                 std::int64_t after) noexcept;

/// How many blocks of `size` elements `padded()` has; nothing if a part is left.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::int64_t> blocks_in(std::int64_t extent, std::int64_t before,
                                                                   std::int64_t after, std::int64_t size) noexcept;

/// How many elements so many blocks of `size` have when they are `cropped()`; the reverse of `blocks_in()`.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::int64_t> elements_in(std::int64_t blocks, std::int64_t before,
                                                                     std::int64_t after, std::int64_t size) noexcept;

/// BatchToSpaceND, DepthToSpace, MatrixBandPart, MirrorPad, MirrorPadGrad, ReverseSequence, SpaceToBatchND,
/// SpaceToDepth.
[[nodiscard]] TRAINHOOK_DECL OpFamily rearrange_ops() noexcept;

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/ops/impl/rearrange.ipp>
#endif
