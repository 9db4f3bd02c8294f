// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reading a checkpoint as an op of the graph, which is how a variable gets its initial value from one.
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

/// One tensor of a checkpoint, as `restore_v2` reads it.
struct RestoredTensor {
  std::string name{};
  std::string shape_and_slice{};  ///< a region, as `SaveSliceInfo::spec` gives it; empty: all of the tensor
  OutputSpec output{};            ///< its dtype, and what is known of its shape
};

/// Tensors of the checkpoint `prefix`, read from disk whenever they are needed. Source: `tf.raw_ops.RestoreV2`.
TRAINHOOK_DECL std::vector<Output> restore_v2(Graph& graph, const std::string& prefix,
                                              const std::vector<RestoredTensor>& tensors,
                                              std::string_view name = "RestoreV2");

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/ops/impl/restore.ipp>
#endif
