// SPDX-License-Identifier: Apache-2.0
/// @file
/// EigenSession: the engine for graphs, with all kernels of the library.
#pragma once

#include <array>
#include <utility>

#include <trainhook/engine/graph_session.hpp>
#include <trainhook/engine/kernels/array.hpp>
#include <trainhook/engine/kernels/conv.hpp>
#include <trainhook/engine/kernels/data.hpp>
#include <trainhook/engine/kernels/math.hpp>
#include <trainhook/engine/kernels/matmul.hpp>
#include <trainhook/engine/kernels/movement.hpp>
#include <trainhook/engine/kernels/nn.hpp>
#include <trainhook/engine/kernels/pool.hpp>
#include <trainhook/engine/kernels/queue.hpp>
#include <trainhook/engine/kernels/random.hpp>
#include <trainhook/engine/kernels/reduction.hpp>
#include <trainhook/engine/kernels/state.hpp>
#include <trainhook/engine/kernels/strided_slice.hpp>
#include <trainhook/engine/kernels/summary.hpp>
#include <trainhook/engine/kernels/training.hpp>

namespace trainhook {

namespace kernels {

/// Every kernel group of the library.
[[nodiscard]] constexpr std::array<KernelGroup, 15> all() noexcept {
  return {array(), conv(),   data(),      math(),  matmul(),        movement(), nn(),      pool(),
          queue(), random(), reduction(), state(), strided_slice(), summary(),  training()};
}

}  // namespace kernels

/// A GraphSession with every kernel group of the library, on Eigen, single-threaded: the same binary on the same kind of CPU gives the same
/// bits. Groups given in the options come first, so that they add op types and replace kernels. A program that is in a hurry to compile
/// makes a GraphSession with the groups that it uses.
class EigenSession final : public GraphSession {
 public:
  explicit EigenSession(Graph& graph) : EigenSession(graph, GraphSessionOptions()) {}
  EigenSession(Graph& graph, GraphSessionOptions options) : GraphSession(graph, with_all_kernels(std::move(options))) {}

 private:
  static GraphSessionOptions with_all_kernels(GraphSessionOptions options) {
    for (const KernelGroup group : kernels::all()) options.kernels.push_back(group);
    return options;
  }
};

}  // namespace trainhook
