// SPDX-License-Identifier: Apache-2.0
/// @file
/// What running a node costs besides its arithmetic: a chain of 1,000 additions of scalars.

#include <chrono>
#include <cstdlib>
#include <vector>

#include <trainhook/engine/graph_session.hpp>
#include <trainhook/engine/kernels.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/model/ops/math.hpp>

#include "record.hpp"

int main() {
  namespace th = trainhook;
  constexpr int kNodes = 1000;
  constexpr int kRuns = 200;
  th::Graph graph;
  const th::Variable one = th::make_variable("one", th::constant(graph, th::Tensor(1.0F)));
  th::Output sum = one;
  for (int i = 0; i < kNodes; ++i) sum = th::add(sum, one);
  th::GraphSession session(graph, {.kernels = {th::kernels::math(), th::kernels::state()}});
  session.run(one.initializer);

  const th::Fetch fetch(sum);
  th::Tensor result;
  std::vector<double> times;
  for (int round = 0; round < 25; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kRuns; ++i) session.execute({.fetches = {&fetch, 1}}, {&result, 1});
    times.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / kRuns /
                    kNodes);
  }
  // The peer is a budget: 100 ns for each node.
  th::bench::report({.name = "node_overhead",
                     .ours = th::bench::median(times),
                     .peer = 100,
                     .peer_name = "budget",
                     .unit = "ns/op",
                     .goal = 1});
  return result.scalar<float>() == kNodes + 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
