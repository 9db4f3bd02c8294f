// SPDX-License-Identifier: Apache-2.0
/// @file
/// EigenSession: the engine for graphs, with all kernels for what this library builds.
#pragma once

#include <span>

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/graph_session.hpp>
#include <trainhook/engine/kernel.hpp>
#include <trainhook/graph/graph.hpp>

namespace trainhook {

namespace kernels {

/// Returns every kernel group of engine/kernels.hpp. `compat::kernels()` returns those that only imported graphs need.
[[nodiscard]] TRAINHOOK_DECL std::span<const KernelGroup> all() noexcept;

}  // namespace kernels

/// A GraphSession with every kernel group of `kernels::all()`, on Eigen. The same binary gives the same bits for any
/// number of threads, and on all processors if the options name a `width`. Groups given in the options come first, so
/// that they add op types and replace kernels.
class EigenSession final : public GraphSession {
 public:
  TRAINHOOK_DECL explicit EigenSession(Graph& graph);
  TRAINHOOK_DECL EigenSession(Graph& graph, GraphSessionOptions options);
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/impl/eigen_session.ipp>
#endif
