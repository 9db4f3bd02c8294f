// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ops that put elements elsewhere, for imported graphs: blocks, depth and space, mirrors, sequences, bands.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook::detail {

/// BatchToSpaceND, DepthToSpace, MatrixBandPart, MirrorPad, MirrorPadGrad, ReverseSequence, SpaceToBatchND,
/// SpaceToDepth.
[[nodiscard]] TRAINHOOK_DECL OpFamily rearrange_ops() noexcept;

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/ops/impl/rearrange.ipp>
#endif
