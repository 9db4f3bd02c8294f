// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of iterator_resource.hpp.
#pragma once

#include <trainhook/data/iterator_resource.hpp>

#include <fmt/core.h>

#include <utility>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/graph_keys.hpp>

namespace trainhook {

TRAINHOOK_DECL std::string IteratorResource::state_name() const { return fmt::format("{}-state", op.name()); }

TRAINHOOK_DECL std::vector<IteratorResource> iterators(const Graph& graph) {
  return graph.collection<IteratorResource>(graph_keys::kIterators);
}

TRAINHOOK_DECL ExternalStatePolicy external_state_policy(const Graph& graph) {
  const auto policies = graph.collection<ExternalStatePolicy>(kExternalStatePolicies);
  return policies.empty() ? ExternalStatePolicy::Fail : policies.back();
}

TRAINHOOK_DECL GraphIterator::GraphIterator(Operation op, ElementSpec spec) : op_(op), spec_(std::move(spec)) {}

TRAINHOOK_DECL std::vector<Output> GraphIterator::get_next() const {
  const Operation next = op_.graph().add(
      {.type = "IteratorGetNext", .inputs = {Output(&op_.node(), 0)}, .attrs = attrs_of(spec_), .outputs = spec_});
  std::vector<Output> outputs;
  for (std::size_t i = 0; i < spec_.size(); ++i) outputs.push_back(next.output(i));
  return outputs;
}

TRAINHOOK_DECL Attrs GraphIterator::attrs_of(const ElementSpec& spec) {
  std::vector<DType> types;
  std::vector<PartialShape> shapes;
  for (const OutputSpec& component : spec) {
    types.push_back(component.dtype);
    shapes.push_back(component.shape);
  }
  return {{"output_types", std::move(types)}, {"output_shapes", std::move(shapes)}};
}

TRAINHOOK_DECL GraphIterator make_iterator(Graph& graph, const Dataset& dataset, std::string_view name) {
  const ElementSpec& spec = dataset.element_spec();
  if (spec.empty()) throw InvalidArgumentError("iterator {}: the dataset's elements have no components", name);
  Attrs attrs = GraphIterator::attrs_of(spec);
  attrs.emplace("shared_name", std::string());
  attrs.emplace("container", std::string());
  const Operation op = graph.add({.type = "IteratorV2",
                                  .name = std::string(name),
                                  .attrs = std::move(attrs),
                                  .outputs = {{DType::Invalid, PartialShape(Shape{})}}});
  graph.add_to_collection(graph_keys::kIterators, IteratorResource{op, dataset});
  return GraphIterator(op, spec);
}

}  // namespace trainhook
