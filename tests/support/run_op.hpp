// SPDX-License-Identifier: Apache-2.0
/// @file
/// Runs a single op on given values, for tests of kernels.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/engine/graph_session.hpp>

namespace trainhook::test {

/// Computes one node of type `type`; the inputs are fed, so that nothing is computed ahead. The result has one tensor
/// for each of `outputs`. `num_threads` is the session's.
inline std::vector<Tensor> run_op(KernelGroup group, const std::string& type, const std::vector<Tensor>& inputs,
                                  Attrs attrs, const std::vector<DType>& outputs, std::size_t num_threads = 0) {
  Graph graph;
  NodeSpec spec{.type = type, .name = "tested", .attrs = std::move(attrs)};
  FeedDict feeds;
  for (const Tensor& input : inputs) {
    const Output fed =
        graph.add({.type = "Placeholder", .attrs = {{"dtype", input.dtype()}}, .outputs = {{input.dtype(), {}}}})
            .output();
    spec.inputs.push_back(fed);
    feeds.push_back({fed, input});
  }
  for (const DType dtype : outputs) spec.outputs.push_back({dtype, {}});
  const Operation op = graph.add(std::move(spec));
  GraphSession session(graph, {.kernels = {group}, .num_threads = num_threads});
  std::vector<Fetch> fetches;
  for (std::size_t i = 0; i < outputs.size(); ++i) fetches.emplace_back(op.output(i));
  return session.run(fetches, feeds);
}

/// The same for a node with one output.
inline Tensor run_op(KernelGroup group, const std::string& type, const std::vector<Tensor>& inputs, Attrs attrs,
                     DType output) {
  return run_op(group, type, inputs, std::move(attrs), std::vector<DType>{output}).front();
}

}  // namespace trainhook::test
