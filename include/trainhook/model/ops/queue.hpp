// SPDX-License-Identifier: Apache-2.0
/// @file
/// FIFOQueue: a queue in a graph, through which one run passes tensors to another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook {
namespace detail {

/// FIFOQueueV2, QueueEnqueueV2, ...
[[nodiscard]] TRAINHOOK_DECL OpFamily queue_ops() noexcept;

}  // namespace detail

/// A first-in, first-out queue whose elements are tuples of tensors. A handle; copies refer to the same queue. Its
/// elements belong to the session and are not saved in checkpoints.
///
/// An enqueue waits while the queue is full, a dequeue while it has too few elements. The ops of a run execute one
/// after another, so a second thread must run the other side; `QueueRunner` does that. Waiting threads are served in
/// the order of their arrival. Source: `tf.compat.v1.FIFOQueue`.
class FIFOQueue {
 public:
  /// Holds at most `capacity` elements; a negative capacity means no limit. `dtypes` and `shapes` describe an element's
  /// components. If `shapes` is empty, elements may differ in shape and `dequeue_many` cannot be used.
  /// @throws InvalidArgumentError for a capacity of 0, no dtypes, or another number of shapes.
  TRAINHOOK_DECL FIFOQueue(Graph& graph, std::int64_t capacity, const std::vector<DType>& dtypes,
                           const std::vector<Shape>& shapes = {}, std::string_view name = "fifo_queue");

  [[nodiscard]] Operation op() const noexcept { return op_; }
  [[nodiscard]] const std::string& name() const { return op_.name(); }

  /// Adds one element. @throws InvalidArgumentError for components of another number, dtype or shape. Running it throws
  /// CancelledError once the queue is closed.
  TRAINHOOK_DECL Operation enqueue(const std::vector<Output>& components, std::string_view name = {}) const;

  /// Adds the slices of the components along their first dimension, one element at a time as space becomes free.
  /// @throws InvalidArgumentError as `enqueue`.
  TRAINHOOK_DECL Operation enqueue_many(const std::vector<Output>& components, std::string_view name = {}) const;

  /// The components of the next element. Call it once: each call adds a node that takes another element in every run. A
  /// run throws OutOfRangeError, the end of the input, once the queue is closed and empty.
  [[nodiscard]] TRAINHOOK_DECL std::vector<Output> dequeue(std::string_view name = {}) const;

  /// Stacks the next `n` elements, an int32 scalar, along a new first dimension. If the queue is closed and has fewer,
  /// they stay in it and a run throws OutOfRangeError. @throws InvalidArgumentError for a queue without shapes.
  [[nodiscard]] TRAINHOOK_DECL std::vector<Output> dequeue_many(Output n, std::string_view name = {}) const;
  [[nodiscard]] TRAINHOOK_DECL std::vector<Output> dequeue_many(std::int32_t n, std::string_view name = {}) const;

  /// Closes the queue: its elements can still be taken. Waiting enqueues continue unless `cancel_pending_enqueues` is
  /// set: then they throw CancelledError. Closing it twice does nothing; in TensorFlow it fails.
  TRAINHOOK_DECL Operation close(bool cancel_pending_enqueues = false, std::string_view name = {}) const;

  /// The number of elements, an int32 scalar.
  [[nodiscard]] TRAINHOOK_DECL Output size(std::string_view name = {}) const;

 private:
  /// The node's output, which stands for TensorFlow's resource handle, a dtype that this library lacks.
  [[nodiscard]] TRAINHOOK_DECL Output handle() const;

  /// The default name of an op, as in TensorFlow: the queue's name without scopes, and `suffix`.
  [[nodiscard]] TRAINHOOK_DECL std::string name_of(std::string_view wanted, std::string_view suffix) const;

  TRAINHOOK_DECL void check_count(const std::vector<Output>& components) const;
  TRAINHOOK_DECL void check_component(const Output& given, std::size_t i, const PartialShape& shape) const;
  [[nodiscard]] TRAINHOOK_DECL std::vector<DType> dtypes() const;

  TRAINHOOK_DECL Operation add_enqueue(const OpDef& def, const std::vector<Output>& components, std::string_view name,
                                       std::string_view suffix) const;

  [[nodiscard]] TRAINHOOK_DECL std::vector<Output> add_dequeue(const OpDef& def, NodeSpec spec) const;
  [[nodiscard]] TRAINHOOK_DECL std::vector<Output> add_dequeue_many(Output n, std::string name) const;

  Operation op_;
  std::vector<OutputSpec> components_;
  bool has_shapes_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/ops/impl/queue.ipp>
#endif
