// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/ops/queue.hpp>

#include <array>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>

namespace trainhook::detail {

/// A component of the elements of the queue that input 0 names, with `rows` in front.
inline PartialShape queue_component(const NodeSpec& node, std::size_t index, const Dims& rows) {
  const Attrs& queue = node.inputs[0].node().attrs();
  const auto found = queue.find("shapes");
  const auto* shapes = found == queue.end() ? nullptr : std::get_if<std::vector<PartialShape>>(&found->second);
  if (shapes == nullptr || index >= shapes->size() || !(*shapes)[index].has_rank()) return {};
  Dims dims = rows;
  dims.insert(dims.end(), (*shapes)[index].dims().begin(), (*shapes)[index].dims().end());
  return shape_of(dims);
}

inline PartialShape queue_element(const NodeSpec& node, std::size_t index) { return queue_component(node, index, {}); }

inline PartialShape queue_elements(const NodeSpec& node, std::size_t index) {
  require_rank(label(node), node.inputs[1], 0);
  const auto count = constant_integers(node.inputs[1]);
  if (count && count->front() < 0)
    throw InvalidArgumentError("{}: the number of elements {} is negative", label(node), count->front());
  return queue_component(node, index, {count ? count->front() : kUnknownDim});
}

inline constexpr std::string_view kEnqueue = "Tcomponents:types>0 timeout_ms:int=-1";
inline constexpr std::string_view kDequeue = "component_types:types>0 timeout_ms:int=-1";

inline constexpr OpDef kFIFOQueueV2Op{
    "FIFOQueueV2", "-> resource",
    "component_types:types>0 shapes:shapes=[] capacity:int=-1 container:string= shared_name:string=",
    shape_rules::scalar};
inline constexpr OpDef kQueueCloseV2Op{"QueueCloseV2", "resource ->", "cancel_pending_enqueues:bool=false"};
inline constexpr OpDef kQueueDequeueManyV2Op{"QueueDequeueManyV2", "resource int32 -> component_types", kDequeue,
                                             queue_elements};
inline constexpr OpDef kQueueDequeueV2Op{"QueueDequeueV2", "resource -> component_types", kDequeue, queue_element};
inline constexpr OpDef kQueueEnqueueManyV2Op{"QueueEnqueueManyV2", "resource Tcomponents ->", kEnqueue};
inline constexpr OpDef kQueueEnqueueV2Op{"QueueEnqueueV2", "resource Tcomponents ->", kEnqueue};
inline constexpr OpDef kQueueSizeV2Op{"QueueSizeV2", "resource -> int32", "", shape_rules::scalar};

inline constexpr std::array kQueueOps{&kFIFOQueueV2Op,    &kQueueCloseV2Op,       &kQueueDequeueManyV2Op,
                                      &kQueueDequeueV2Op, &kQueueEnqueueManyV2Op, &kQueueEnqueueV2Op,
                                      &kQueueSizeV2Op};

OpFamily queue_ops() noexcept { return kQueueOps; }

/// `shape` with a first dimension of unknown extent.
inline PartialShape in_rows(const PartialShape& shape) {
  if (!shape.has_rank()) return shape;
  Dims dims = dims_of(shape);
  dims.insert(dims.begin(), kUnknownDim);
  return shape_of(dims);
}

}  // namespace trainhook::detail

namespace trainhook {

FIFOQueue::FIFOQueue(Graph& graph, std::int64_t capacity, const std::vector<DType>& dtypes,
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
  op_ = detail::add_node(graph, detail::kFIFOQueueV2Op,
                         {.name = std::string(name),
                          .attrs = {{"capacity", capacity},
                                    {"component_types", dtypes},
                                    {"shapes", std::vector<PartialShape>(shapes.begin(), shapes.end())}}});
}

Operation FIFOQueue::enqueue(const std::vector<Output>& components, std::string_view name) const {
  check_count(components);
  for (std::size_t i = 0; i < components.size(); ++i) check_component(components[i], i, components_[i].shape);
  return add_enqueue(detail::kQueueEnqueueV2Op, components, name, "_enqueue");
}

Operation FIFOQueue::enqueue_many(const std::vector<Output>& components, std::string_view name) const {
  check_count(components);
  for (std::size_t i = 0; i < components.size(); ++i)
    check_component(components[i], i, detail::in_rows(components_[i].shape));
  return add_enqueue(detail::kQueueEnqueueManyV2Op, components, name, "_EnqueueMany");
}

std::vector<Output> FIFOQueue::dequeue(std::string_view name) const {
  return add_dequeue(detail::kQueueDequeueV2Op, {.name = name_of(name, "_Dequeue"), .inputs = {handle()}});
}

std::vector<Output> FIFOQueue::dequeue_many(Output n, std::string_view name) const {
  op_.graph().check_belongs(n, "n of", "dequeue_many");
  return add_dequeue_many(n, name_of(name, "_DequeueMany"));
}

std::vector<Output> FIFOQueue::dequeue_many(std::int32_t n, std::string_view name) const {
  if (n < 0)
    throw InvalidArgumentError("FIFOQueue '{}': dequeue_many of {} elements; n must not be negative", this->name(), n);
  const Graph::Scope scope = op_.graph().name_scope(name_of(name, "_DequeueMany"));
  return add_dequeue_many(detail::constant_int(op_.graph(), n, "n"), op_.graph().current_scope());
}

Operation FIFOQueue::close(bool cancel_pending_enqueues, std::string_view name) const {
  return detail::add_node(op_.graph(), detail::kQueueCloseV2Op,
                          {.name = name_of(name, "_Close"),
                           .inputs = {handle()},
                           .attrs = {{"cancel_pending_enqueues", cancel_pending_enqueues}}});
}

Output FIFOQueue::size(std::string_view name) const {
  return detail::add_op(detail::kQueueSizeV2Op, name_of(name, "_Size"), {handle()});
}

Output FIFOQueue::handle() const { return Output(&op_.node(), 0); }

std::string FIFOQueue::name_of(std::string_view wanted, std::string_view suffix) const {
  const std::string& own = this->name();
  return wanted.empty() ? own.substr(own.rfind('/') + 1) + std::string(suffix) : std::string(wanted);
}

void FIFOQueue::check_count(const std::vector<Output>& components) const {
  if (components.size() != components_.size()) {
    throw InvalidArgumentError("FIFOQueue '{}': an element has {} components, not {}", name(), components_.size(),
                               components.size());
  }
}

void FIFOQueue::check_component(const Output& given, std::size_t i, const PartialShape& shape) const {
  op_.graph().check_belongs(given, "a component for", name());
  if (given.dtype() != components_[i].dtype || !shape.compatible_with(given.shape())) {
    throw InvalidArgumentError("FIFOQueue '{}': component {} is {}{}, not {}", name(), i, components_[i].dtype, shape,
                               given);
  }
}

std::vector<DType> FIFOQueue::dtypes() const {
  std::vector<DType> result;
  for (const OutputSpec& component : components_) result.push_back(component.dtype);
  return result;
}

Operation FIFOQueue::add_enqueue(const OpDef& def, const std::vector<Output>& components, std::string_view name,
                                 std::string_view suffix) const {
  NodeSpec spec{.name = name_of(name, suffix), .inputs = {handle()}};
  spec.inputs.insert(spec.inputs.end(), components.begin(), components.end());
  spec.attrs = {{"Tcomponents", dtypes()}};
  return detail::add_node(op_.graph(), def, std::move(spec));
}

std::vector<Output> FIFOQueue::add_dequeue(const OpDef& def, NodeSpec spec) const {
  spec.attrs = {{"component_types", dtypes()}};
  const Operation dequeue = detail::add_node(op_.graph(), def, std::move(spec));
  std::vector<Output> outputs;
  for (std::size_t i = 0; i < components_.size(); ++i) outputs.push_back(dequeue.output(i));
  return outputs;
}

std::vector<Output> FIFOQueue::add_dequeue_many(Output n, std::string name) const {
  if (!has_shapes_)
    throw InvalidArgumentError("FIFOQueue '{}' has no shapes, which dequeue_many needs; give them to the queue",
                               this->name());
  return add_dequeue(detail::kQueueDequeueManyV2Op, {.name = std::move(name), .inputs = {handle(), n}});
}

}  // namespace trainhook
