// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/data/iterator_resource.hpp>

#include <fmt/format.h>

#include <utility>

#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/ops/iterator.hpp>

namespace trainhook::detail {

std::string IteratorResource::state_name() const { return fmt::format("{}-state", op.name()); }

SavedInput IteratorResource::as_saved_input() const {
  return {.name = op.name(), .external_state = [dataset = dataset] { return dataset.external_state(); }};
}

std::vector<IteratorResource> iterators(const Graph& graph) {
  return graph.collection<IteratorResource>(graph_keys::kIterators);
}

}  // namespace trainhook::detail

namespace trainhook {

GraphIterator::GraphIterator(Operation op, ElementSpec spec) : op_(op), spec_(std::move(spec)) {}

std::vector<Output> GraphIterator::get_next() const {
  const Operation next = detail::iterator_get_next(op_, spec_);
  std::vector<Output> outputs;
  for (std::size_t i = 0; i < spec_.size(); ++i) outputs.push_back(next.output(i));
  return outputs;
}

GraphIterator make_iterator(Graph& graph, const Dataset& dataset, std::string_view name) {
  const ElementSpec& spec = dataset.element_spec();
  if (spec.empty()) throw InvalidArgumentError("iterator {}: the dataset's elements have no components", name);
  const Operation op = detail::iterator(graph, spec, name);
  const detail::IteratorResource resource{op, dataset};
  graph.add_to_collection(graph_keys::kIterators, resource);
  graph.add_to_collection(detail::kSavedInputs, resource.as_saved_input());
  return GraphIterator(op, spec);
}

}  // namespace trainhook
