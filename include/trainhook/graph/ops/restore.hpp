// SPDX-License-Identifier: Apache-2.0
/// @file
/// An op that reads a checkpoint, for variables whose initial values come from one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook {
namespace detail {

/// RestoreV2.
[[nodiscard]] TRAINHOOK_DECL OpFamily restore_ops() noexcept;

}  // namespace detail

/// One tensor of a checkpoint for `restore_v2`.
struct RestoredTensor {
  std::string name{};
  std::string shape_and_slice{};  ///< a region in the form of `SaveSliceInfo::spec`; empty: the whole tensor
  OutputSpec output{};            ///< its dtype, and its shape as far as it is known
};

/// Tensors of the checkpoint `prefix`. Every run that needs them reads them from disk. Source: `tf.raw_ops.RestoreV2`.
TRAINHOOK_DECL std::vector<Output> restore_v2(Graph& graph, const std::string& prefix,
                                              const std::vector<RestoredTensor>& tensors,
                                              std::string_view name = "RestoreV2");

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/ops/impl/restore.ipp>
#endif
