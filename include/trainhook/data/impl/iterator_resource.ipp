// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/data/iterator_resource.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>

namespace trainhook::detail {

std::string IteratorResource::state_name() const { return fmt::format("{}-state", op.name()); }

SavedInput IteratorResource::as_saved_input() const {
  return {.name = op.name(), .external_state = [dataset = dataset] { return dataset.external_state(); }};
}

std::vector<IteratorResource> iterators(const Graph& graph) {
  return graph.collection<IteratorResource>(graph_keys::kIterators);
}

/// One of the shapes in the attribute `output_shapes`.
inline PartialShape iterator_component(const NodeSpec& node, std::size_t index) {
  const auto& shapes = attr_of<std::vector<PartialShape>>(node, "output_shapes");
  const std::size_t count = attr_of<std::vector<DType>>(node, "output_types").size();
  if (count != shapes.size())
    throw InvalidArgumentError("{} has {} output_types and {} output_shapes", label(node), count, shapes.size());
  return shapes[index];
}

inline constexpr OpDef kIteratorGetNextOp{"IteratorGetNext", "resource -> output_types",
                                          "output_types:types>0 output_shapes:shapes>0", iterator_component};
inline constexpr OpDef kIteratorV2Op{"IteratorV2", "-> resource",
                                     "output_types:types>0 output_shapes:shapes>0 container:string shared_name:string",
                                     shape_rules::scalar};

inline constexpr std::array kIteratorOps{&kIteratorGetNextOp, &kIteratorV2Op};

OpFamily iterator_ops() noexcept { return kIteratorOps; }

inline Attrs attrs_of(std::span<const OutputSpec> components) {
  std::vector<DType> types;
  std::vector<PartialShape> shapes;
  for (const OutputSpec& component : components) {
    types.push_back(component.dtype);
    shapes.push_back(component.shape);
  }
  return {{"output_types", std::move(types)}, {"output_shapes", std::move(shapes)}};
}

Operation iterator(Graph& graph, std::span<const OutputSpec> components, std::string_view name) {
  Attrs attrs = attrs_of(components);
  for (const char* key : {"container", "shared_name"}) attrs.emplace(key, std::string());
  return add_node(graph, kIteratorV2Op, {.name = std::string(name), .attrs = std::move(attrs)});
}

Operation iterator_get_next(Operation iterator, std::span<const OutputSpec> components) {
  return add_node(iterator.graph(), kIteratorGetNextOp,
                  {.inputs = {Output(&iterator.node(), 0)}, .attrs = attrs_of(components)});
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

void save_with_model(Graph& graph, std::string_view name, ExternalStatePolicy external_state_policy) {
  for (const detail::IteratorResource& iterator : detail::iterators(graph)) {
    if (iterator.op.name() != name) continue;
    iterator.as_saved_input().check_external_state(external_state_policy, "save_with_model");
    if (external_state_policy != ExternalStatePolicy::Fail)
      graph.add_to_collection(detail::kExternalStatePolicies, external_state_policy);
    return graph.add_to_collection(detail::kInputsWithModel, iterator.state_name());
  }
  throw NotFoundError("save_with_model: the graph has no iterator '{}'; make it with make_iterator()", name);
}

void save_with_model(const GraphIterator& iterator, ExternalStatePolicy external_state_policy) {
  save_with_model(iterator.op().graph(), iterator.name(), external_state_policy);
}

}  // namespace trainhook
