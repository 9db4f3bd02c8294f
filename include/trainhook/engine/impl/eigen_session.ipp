// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/engine/eigen_session.hpp>

#include <array>
#include <utility>

#include <trainhook/engine/kernels.hpp>

namespace trainhook {

namespace kernels {

std::span<const KernelGroup> all() noexcept {
  static const std::array groups{special(),       array(),   ranking(),  resize(),    conv(),      depthwise(),
                                 normalization(), data(),    math(),     matmul(),    movement(),  nn(),
                                 pool(),          queue(),   random(),   reduction(), selection(), state(),
                                 strided_slice(), summary(), training(), restore(),   all_reduce()};
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
