// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of queue_ops.hpp.
#pragma once

#include <trainhook/graph/queue_ops.hpp>

#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/constant_ops.hpp>
#include <trainhook/graph/op_builder.hpp>

namespace trainhook {

TRAINHOOK_DECL FIFOQueue::FIFOQueue(Graph& graph, std::int64_t capacity, const std::vector<DType>& dtypes,
                                    const std::vector<Shape>& shapes, std::string_view name)
    : has_shapes_(!shapes.empty()) {
  if (capacity == 0)
    throw InvalidArgumentError("FIFOQueue '{}': a capacity of 0 holds nothing; give 1 or more, or -1 for no limit",
                               name);
  if (dtypes.empty()) throw InvalidArgumentError("FIFOQueue '{}': dtypes is empty; give that of each component", name);
  if (has_shapes_ && shapes.size() != dtypes.size()) {
    throw InvalidArgumentError("FIFOQueue '{}': {} dtypes and {} shapes; give as many, or no shapes", name,
                               dtypes.size(), shapes.size());
  }
  for (std::size_t i = 0; i < dtypes.size(); ++i)
    components_.push_back({dtypes[i], has_shapes_ ? PartialShape(shapes[i]) : PartialShape()});
  op_ = graph.add({.type = "FIFOQueueV2",
                   .name = std::string(name),
                   .attrs = {{"capacity", capacity},
                             {"component_types", dtypes},
                             {"container", std::string()},
                             {"shapes", std::vector<PartialShape>(shapes.begin(), shapes.end())},
                             {"shared_name", std::string()}},
                   .outputs = {{DType::Invalid, PartialShape(Shape{})}}});
}

TRAINHOOK_DECL Operation FIFOQueue::enqueue(const std::vector<Output>& components, std::string_view name) const {
  check_count(components);
  for (std::size_t i = 0; i < components.size(); ++i) check_component(components[i], i, components_[i].shape);
  return add_enqueue("QueueEnqueueV2", components, name, "_enqueue");
}

TRAINHOOK_DECL Operation FIFOQueue::enqueue_many(const std::vector<Output>& components, std::string_view name) const {
  check_count(components);
  for (std::size_t i = 0; i < components.size(); ++i)
    check_component(components[i], i, in_rows(components_[i].shape, kUnknownDim));
  return add_enqueue("QueueEnqueueManyV2", components, name, "_EnqueueMany");
}

TRAINHOOK_DECL std::vector<Output> FIFOQueue::dequeue(std::string_view name) const {
  return add_dequeue(
      {.type = "QueueDequeueV2", .name = name_of(name, "_Dequeue"), .inputs = {handle()}, .outputs = components_});
}

TRAINHOOK_DECL std::vector<Output> FIFOQueue::dequeue_many(Output n, std::string_view name) const {
  op_.graph().check_belongs(n, "n of", "dequeue_many");
  return add_dequeue_many(n, kUnknownDim, name_of(name, "_DequeueMany"));
}

TRAINHOOK_DECL std::vector<Output> FIFOQueue::dequeue_many(std::int32_t n, std::string_view name) const {
  if (n < 0)
    throw InvalidArgumentError("FIFOQueue '{}': dequeue_many of {} elements; n must not be negative", this->name(), n);
  const Graph::Scope scope = op_.graph().name_scope(name_of(name, "_DequeueMany"));
  return add_dequeue_many(detail::constant_int(op_.graph(), n, "n"), n, op_.graph().current_scope());
}

TRAINHOOK_DECL Operation FIFOQueue::close(bool cancel_pending_enqueues, std::string_view name) const {
  return op_.graph().add({.type = "QueueCloseV2",
                          .name = name_of(name, "_Close"),
                          .inputs = {handle()},
                          .attrs = {{"cancel_pending_enqueues", cancel_pending_enqueues}}});
}

TRAINHOOK_DECL Output FIFOQueue::size(std::string_view name) const {
  return detail::add_op(op_.graph(), "QueueSizeV2", name_of(name, "_Size"), {handle()}, {}, DType::Int32, Shape{});
}

TRAINHOOK_DECL Output FIFOQueue::handle() const { return Output(&op_.node(), 0); }

TRAINHOOK_DECL std::string FIFOQueue::name_of(std::string_view wanted, std::string_view suffix) const {
  const std::string& own = this->name();
  return wanted.empty() ? own.substr(own.rfind('/') + 1) + std::string(suffix) : std::string(wanted);
}

TRAINHOOK_DECL PartialShape FIFOQueue::in_rows(const PartialShape& shape, std::int64_t rows) {
  if (!shape.has_rank()) return shape;
  std::vector<std::int64_t> dims = detail::dims_of(shape);
  dims.insert(dims.begin(), rows);
  return detail::shape_of(dims);
}

TRAINHOOK_DECL void FIFOQueue::check_count(const std::vector<Output>& components) const {
  if (components.size() != components_.size()) {
    throw InvalidArgumentError("FIFOQueue '{}': an element has {} components, not {}", name(), components_.size(),
                               components.size());
  }
}

TRAINHOOK_DECL void FIFOQueue::check_component(const Output& given, std::size_t i, const PartialShape& shape) const {
  op_.graph().check_belongs(given, "a component for", name());
  if (given.dtype() != components_[i].dtype || !shape.compatible_with(given.shape())) {
    throw InvalidArgumentError("FIFOQueue '{}': component {} is {}{}, not {}", name(), i, components_[i].dtype, shape,
                               detail::spelled(given));
  }
}

TRAINHOOK_DECL std::vector<DType> FIFOQueue::dtypes() const {
  std::vector<DType> result;
  for (const OutputSpec& component : components_) result.push_back(component.dtype);
  return result;
}

TRAINHOOK_DECL Operation FIFOQueue::add_enqueue(std::string_view type, const std::vector<Output>& components,
                                                std::string_view name, std::string_view suffix) const {
  NodeSpec spec{.type = std::string(type), .name = name_of(name, suffix), .inputs = {handle()}};
  spec.inputs.insert(spec.inputs.end(), components.begin(), components.end());
  spec.attrs = {{"Tcomponents", dtypes()}, {"timeout_ms", std::int64_t{-1}}};
  return op_.graph().add(std::move(spec));
}

TRAINHOOK_DECL std::vector<Output> FIFOQueue::add_dequeue(NodeSpec spec) const {
  spec.attrs = {{"component_types", dtypes()}, {"timeout_ms", std::int64_t{-1}}};
  const Operation dequeue = op_.graph().add(std::move(spec));
  std::vector<Output> outputs;
  for (std::size_t i = 0; i < components_.size(); ++i) outputs.push_back(dequeue.output(i));
  return outputs;
}

TRAINHOOK_DECL std::vector<Output> FIFOQueue::add_dequeue_many(Output n, std::int64_t rows, std::string name) const {
  if (!has_shapes_)
    throw InvalidArgumentError("FIFOQueue '{}' has no shapes, which dequeue_many needs; give them to the queue",
                               this->name());
  NodeSpec spec{.type = "QueueDequeueManyV2", .name = std::move(name), .inputs = {handle(), n}};
  for (const OutputSpec& component : components_)
    spec.outputs.push_back({component.dtype, in_rows(component.shape, rows)});
  return add_dequeue(std::move(spec));
}

}  // namespace trainhook
