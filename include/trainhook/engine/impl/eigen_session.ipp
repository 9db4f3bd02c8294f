// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of eigen_session.hpp.
#pragma once

#include <trainhook/engine/eigen_session.hpp>

#include <array>
#include <utility>

#include <trainhook/engine/kernels/all_reduce.hpp>
#include <trainhook/engine/kernels/array.hpp>
#include <trainhook/engine/kernels/control_flow.hpp>
#include <trainhook/engine/kernels/conv.hpp>
#include <trainhook/engine/kernels/data.hpp>
#include <trainhook/engine/kernels/depthwise.hpp>
#include <trainhook/engine/kernels/einsum.hpp>
#include <trainhook/engine/kernels/math.hpp>
#include <trainhook/engine/kernels/matmul.hpp>
#include <trainhook/engine/kernels/movement.hpp>
#include <trainhook/engine/kernels/nn.hpp>
#include <trainhook/engine/kernels/normalization.hpp>
#include <trainhook/engine/kernels/partition.hpp>
#include <trainhook/engine/kernels/pool.hpp>
#include <trainhook/engine/kernels/queue.hpp>
#include <trainhook/engine/kernels/random.hpp>
#include <trainhook/engine/kernels/ranking.hpp>
#include <trainhook/engine/kernels/rearrange.hpp>
#include <trainhook/engine/kernels/reduction.hpp>
#include <trainhook/engine/kernels/resize.hpp>
#include <trainhook/engine/kernels/restore.hpp>
#include <trainhook/engine/kernels/selection.hpp>
#include <trainhook/engine/kernels/sparse_training.hpp>
#include <trainhook/engine/kernels/special.hpp>
#include <trainhook/engine/kernels/state.hpp>
#include <trainhook/engine/kernels/strided_slice.hpp>
#include <trainhook/engine/kernels/summary.hpp>
#include <trainhook/engine/kernels/training.hpp>

namespace trainhook {

namespace kernels {

std::span<const KernelGroup> all() noexcept {
  static const std::array groups{einsum(),       partition(), rearrange(), special(),   array(),     sparse_training(),
                                 control_flow(), ranking(),   resize(),    conv(),      depthwise(), normalization(),
                                 data(),         math(),      matmul(),    movement(),  nn(),        pool(),
                                 queue(),        random(),    reduction(), selection(), state(),     strided_slice(),
                                 summary(),      training(),  restore(),   all_reduce()};
  return groups;
}

}  // namespace kernels

namespace detail {

inline GraphSessionOptions with_all_kernels(GraphSessionOptions options) {
  for (const KernelGroup group : kernels::all()) options.kernels.push_back(group);
  return options;
}

}  // namespace detail

EigenSession::EigenSession(Graph& graph) : EigenSession(graph, GraphSessionOptions()) {}
EigenSession::EigenSession(Graph& graph, GraphSessionOptions options)
    : GraphSession(graph, detail::with_all_kernels(std::move(options))) {}

}  // namespace trainhook
