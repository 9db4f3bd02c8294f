// SPDX-License-Identifier: Apache-2.0
/// @file
/// What running a node costs besides its arithmetic: a chain of 1,000 additions of scalars.

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
  const th::Fetch fetch(sum);
  th::Tensor result;
  const th::GraphSessionOptions options{.kernels = {th::kernels::math(), th::kernels::state()}, .num_threads = 1};
  th::GraphSessionOptions options_of_two = options;
  options_of_two.num_threads = 2;
  th::GraphSession session(graph, options);
  th::GraphSession session_of_two(graph, options_of_two);
  session.run(one.initializer);
  session_of_two.run(one.initializer);
  const auto nanoseconds = [&](th::GraphSession& measured) {
    return 1e9 / kRuns / kNodes * th::bench::seconds([&] {
             for (int i = 0; i < kRuns; ++i) measured.execute({.fetches = {&fetch, 1}}, {&result, 1});
           });
  };
  std::vector<double> times;
  std::vector<double> times_of_two;
  for (int round = 0; round < 25; ++round) {
    times.push_back(nanoseconds(session));
    times_of_two.push_back(nanoseconds(session_of_two));
  }
  // The peer is a budget: 100 ns for each node.
  th::bench::report({.name = "node_overhead",
                     .ours = th::bench::median(times),
                     .peer = 100,
                     .peer_name = "budget",
                     .unit = "ns/op",
                     .goal = 1});
  th::bench::report({.name = "node_overhead_two_threads",
                     .ours = th::bench::median(times_of_two),
                     .peer = th::bench::median(times),
                     .peer_name = "one thread",
                     .unit = "ns/op",
                     .goal = 1.05});
  return result.scalar<float>() == kNodes + 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
