// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/mpi/distributed_optimizer.hpp>

#include <algorithm>
#include <memory>
#include <optional>

#include <trainhook/core/dtype.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/model/ops/all_reduce.hpp>

namespace trainhook::mpi::detail {

/// The bytes of a gradient, or of a whole bucket if its shape is not known before the graph runs.
inline std::size_t bytes_of(Output gradient, std::size_t bucket_bytes) {
  if (!gradient.shape().is_fully_known()) return bucket_bytes;
  return static_cast<std::size_t>(gradient.shape().known().num_elements()) * dtype_size(gradient.dtype());
}

std::vector<GradientAndVariable> reduce_gradients(std::vector<GradientAndVariable> pairs, const Communicator& comm,
                                                  const DistributedOptimizerOptions& options) {
  // Nodes run in the order of their creation, so the gradients of the last layer come first.
  std::vector<GradientAndVariable*> open;
  for (GradientAndVariable& pair : pairs) {
    if (pair.gradient.has_value()) open.push_back(&pair);
  }
  if (open.empty()) return pairs;
  std::ranges::stable_sort(open, {}, [](const GradientAndVariable* pair) { return pair->gradient.node().id(); });

  Graph& graph = open.front()->gradient.graph();
  const Graph::Scope scope = graph.name_scope("DistributedOptimizer");
  const std::shared_ptr<AllReducer> ranks = reducer(comm, options.max_wait_secs);
  std::optional<trainhook::detail::SplitAllReduce> last;
  for (std::size_t begin = 0; begin < open.size();) {
    std::vector<Output> bucket;
    std::size_t bytes = 0;
    std::size_t end = begin;
    do {
      bucket.push_back(open[end]->gradient);
      bytes += bytes_of(bucket.back(), options.bucket_bytes);
      ++end;
    } while (end < open.size() && bytes < options.bucket_bytes &&
             open[end]->gradient.dtype() == bucket.front().dtype());
    last = trainhook::detail::split_all_reduce(bucket, options.reduction, ranks, last);
    for (std::size_t i = begin; i < end; ++i) open[i]->gradient = last->finish.output(i - begin);
    begin = end;
  }
  return pairs;
}

}  // namespace trainhook::mpi::detail
