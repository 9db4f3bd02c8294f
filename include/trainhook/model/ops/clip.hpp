// SPDX-License-Identifier: Apache-2.0
/// @file
/// The norm over several tensors, and clipping by it, for gradients that become too large.
#pragma once

#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook {

/// The square root of the sum of all squares; empty handles are skipped. Source: `tf.linalg.global_norm`.
TRAINHOOK_DECL Output global_norm(const std::vector<Output>& tensors, std::string_view name = "global_norm");

struct ClippedByNorm {
  std::vector<Output> tensors{};  ///< in the given order; an empty handle stays empty
  Output norm{};                  ///< before clipping
};

/// Scales all `tensors` by one factor so that their global norm is at most `clip_norm`. The results are NaN if the norm
/// is not finite. Source: `tf.clip_by_global_norm`.
TRAINHOOK_DECL ClippedByNorm clip_by_global_norm(const std::vector<Output>& tensors, double clip_norm,
                                                 std::string_view name = "clip_by_global_norm");

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/ops/impl/clip.ipp>
#endif
