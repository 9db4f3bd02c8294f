// SPDX-License-Identifier: Apache-2.0
/// @file
/// FIFOQueue: a queue in a graph, through which one run hands tensors to another.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/graph/constant_ops.hpp>
#include <trainhook/graph/op_builder.hpp>

namespace trainhook {

/// A queue of elements, each a tuple of tensors; first in, first out. A small value: copies name the same queue. What it holds belongs to
/// the session, ends with it, and is not part of a checkpoint.
///
/// An enqueue waits while the queue is full, a dequeue while it holds too little. The ops of one run come one after the other, so another
/// thread has to run the other side; `QueueRunner` is made for that. Each of several waiting threads has its turn in the order they came.
/// Source: `tf.compat.v1.FIFOQueue`.
class FIFOQueue {
 public:
  /// Holds at most `capacity` elements, any number where that is negative. `dtypes` are those of an element's components; `shapes` theirs,
  /// or empty, and then elements may differ in shape and `dequeue_many` cannot be used.
  /// @throws InvalidArgumentError for a capacity of 0, no dtypes, or another number of shapes.
  FIFOQueue(Graph& graph, std::int64_t capacity, const std::vector<DType>& dtypes, const std::vector<Shape>& shapes = {},
            std::string_view name = "fifo_queue")
      : has_shapes_(!shapes.empty()) {
    if (capacity == 0)
      throw InvalidArgumentError("FIFOQueue '", name, "': a capacity of 0 holds nothing; give 1 or more, or -1 for no limit");
    if (dtypes.empty()) throw InvalidArgumentError("FIFOQueue '", name, "': dtypes is empty; give that of each component");
    if (has_shapes_ && shapes.size() != dtypes.size()) {
      throw InvalidArgumentError("FIFOQueue '", name, "': ", dtypes.size(), " dtypes and ", shapes.size(),
                                 " shapes; give as many, or no shapes");
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

  [[nodiscard]] Operation op() const noexcept { return op_; }
  [[nodiscard]] const std::string& name() const { return op_.name(); }

  /// Puts one element in. @throws InvalidArgumentError for components of another number, dtype or shape. A run of it throws CancelledError
  /// once the queue is closed.
  Operation enqueue(const std::vector<Output>& components, std::string_view name = {}) const {
    check_count(components);
    for (std::size_t i = 0; i < components.size(); ++i) check_component(components[i], i, components_[i].shape);
    return add_enqueue("QueueEnqueueV2", components, name, "_enqueue");
  }

  /// Puts in as many elements as the components' first dimension says, one after the other as there is room.
  /// @throws InvalidArgumentError as `enqueue`.
  Operation enqueue_many(const std::vector<Output>& components, std::string_view name = {}) const {
    check_count(components);
    for (std::size_t i = 0; i < components.size(); ++i) check_component(components[i], i, in_rows(components_[i].shape, kUnknownDim));
    return add_enqueue("QueueEnqueueManyV2", components, name, "_EnqueueMany");
  }

  /// The components of the next element. Each call adds a node that takes an element of its own whenever it runs: call it once. A run
  /// throws OutOfRangeError, the end of the input, once the queue is closed and empty.
  [[nodiscard]] std::vector<Output> dequeue(std::string_view name = {}) const {
    return add_dequeue({.type = "QueueDequeueV2", .name = name_of(name, "_Dequeue"), .inputs = {handle()}, .outputs = components_});
  }

  /// The next `n` elements, an int32 scalar, as one with a first dimension of that size; fewer than `n` that are left when the queue is
  /// closed stay there. @throws InvalidArgumentError for a queue without shapes.
  [[nodiscard]] std::vector<Output> dequeue_many(Output n, std::string_view name = {}) const {
    op_.graph().check_belongs(n, "n of", "dequeue_many");
    return add_dequeue_many(n, kUnknownDim, name_of(name, "_DequeueMany"));
  }
  [[nodiscard]] std::vector<Output> dequeue_many(std::int32_t n, std::string_view name = {}) const {
    if (n < 0) throw InvalidArgumentError("FIFOQueue '", this->name(), "': dequeue_many of ", n, " elements; n must not be negative");
    const Graph::Scope scope = op_.graph().name_scope(name_of(name, "_DequeueMany"));
    return add_dequeue_many(detail::constant_int(op_.graph(), n, "n"), n, op_.graph().current_scope());
  }

  /// No more elements come: what is in the queue can still be taken. Enqueues that wait go on, unless `cancel_pending_enqueues`: then they
  /// throw CancelledError. Harmless when repeated, where TensorFlow's fails.
  Operation close(bool cancel_pending_enqueues = false, std::string_view name = {}) const {
    return op_.graph().add({.type = "QueueCloseV2",
                            .name = name_of(name, "_Close"),
                            .inputs = {handle()},
                            .attrs = {{"cancel_pending_enqueues", cancel_pending_enqueues}}});
  }

  /// How many elements it holds, an int32 scalar.
  [[nodiscard]] Output size(std::string_view name = {}) const {
    return detail::add_op(op_.graph(), "QueueSizeV2", name_of(name, "_Size"), {handle()}, {}, DType::Int32, Shape{});
  }

 private:
  /// The node's output stands for TensorFlow's resource handle, a dtype that no tensor here can have.
  [[nodiscard]] Output handle() const { return Output(&op_.node(), 0); }

  /// As TensorFlow names them: the queue's name without its scopes, and what is done.
  [[nodiscard]] std::string name_of(std::string_view wanted, std::string_view suffix) const {
    const std::string& own = this->name();
    return wanted.empty() ? own.substr(own.rfind('/') + 1) + std::string(suffix) : std::string(wanted);
  }

  [[nodiscard]] static PartialShape in_rows(const PartialShape& shape, std::int64_t rows) {
    if (!shape.has_rank()) return shape;
    std::vector<std::int64_t> dims = detail::dims_of(shape);
    dims.insert(dims.begin(), rows);
    return detail::shape_of(dims);
  }

  void check_count(const std::vector<Output>& components) const {
    if (components.size() != components_.size()) {
      throw InvalidArgumentError("FIFOQueue '", name(), "': an element has ", components_.size(), " components, not ", components.size());
    }
  }
  void check_component(const Output& given, std::size_t i, const PartialShape& shape) const {
    op_.graph().check_belongs(given, "a component for", name());
    if (given.dtype() != components_[i].dtype || !shape.compatible_with(given.shape())) {
      throw InvalidArgumentError("FIFOQueue '", name(), "': component ", i, " is ", dtype_name(components_[i].dtype), shape, ", not ",
                                 detail::spelled(given));
    }
  }

  [[nodiscard]] std::vector<DType> dtypes() const {
    std::vector<DType> result;
    for (const OutputSpec& component : components_) result.push_back(component.dtype);
    return result;
  }

  Operation add_enqueue(std::string_view type, const std::vector<Output>& components, std::string_view name,
                        std::string_view suffix) const {
    NodeSpec spec{.type = std::string(type), .name = name_of(name, suffix), .inputs = {handle()}};
    spec.inputs.insert(spec.inputs.end(), components.begin(), components.end());
    spec.attrs = {{"Tcomponents", dtypes()}, {"timeout_ms", std::int64_t{-1}}};
    return op_.graph().add(std::move(spec));
  }

  [[nodiscard]] std::vector<Output> add_dequeue(NodeSpec spec) const {
    spec.attrs = {{"component_types", dtypes()}, {"timeout_ms", std::int64_t{-1}}};
    const Operation dequeue = op_.graph().add(std::move(spec));
    std::vector<Output> outputs;
    for (std::size_t i = 0; i < components_.size(); ++i) outputs.push_back(dequeue.output(i));
    return outputs;
  }

  [[nodiscard]] std::vector<Output> add_dequeue_many(Output n, std::int64_t rows, std::string name) const {
    if (!has_shapes_)
      throw InvalidArgumentError("FIFOQueue '", this->name(), "' has no shapes, which dequeue_many needs; give them to the queue");
    NodeSpec spec{.type = "QueueDequeueManyV2", .name = std::move(name), .inputs = {handle(), n}};
    for (const OutputSpec& component : components_) spec.outputs.push_back({component.dtype, in_rows(component.shape, rows)});
    return add_dequeue(std::move(spec));
  }

  Operation op_;
  std::vector<OutputSpec> components_;
  bool has_shapes_;
};

}  // namespace trainhook
