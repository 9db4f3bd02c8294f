// SPDX-License-Identifier: Apache-2.0
/// @file
/// FIFOQueue: a queue in a graph, through which one run hands tensors to another.
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

/// A queue of elements, each a tuple of tensors; first in, first out. A small value: copies name the same queue. What
/// it holds belongs to the session, ends with it, and is not part of a checkpoint.
///
/// An enqueue waits while the queue is full, a dequeue while it holds too little. The ops of one run come one after the
/// other, so another thread has to run the other side; `QueueRunner` is made for that. Each of several waiting threads
/// has its turn in the order they came. Source: `tf.compat.v1.FIFOQueue`.
class FIFOQueue {
 public:
  /// Holds at most `capacity` elements, any number if that is negative. `dtypes` are those of an element's
  /// components; `shapes` theirs, or empty, and then elements may differ in shape and `dequeue_many` cannot be used.
  /// @throws InvalidArgumentError for a capacity of 0, no dtypes, or another number of shapes.
  TRAINHOOK_DECL FIFOQueue(Graph& graph, std::int64_t capacity, const std::vector<DType>& dtypes,
                           const std::vector<Shape>& shapes = {}, std::string_view name = "fifo_queue");

  [[nodiscard]] Operation op() const noexcept { return op_; }
  [[nodiscard]] const std::string& name() const { return op_.name(); }

  /// Puts one element in. @throws InvalidArgumentError for components of another number, dtype or shape. A run of it
  /// throws CancelledError once the queue is closed.
  TRAINHOOK_DECL Operation enqueue(const std::vector<Output>& components, std::string_view name = {}) const;

  /// Puts in as many elements as the components' first dimension says, one after the other as there is room.
  /// @throws InvalidArgumentError as `enqueue`.
  TRAINHOOK_DECL Operation enqueue_many(const std::vector<Output>& components, std::string_view name = {}) const;

  /// The components of the next element. Each call adds a node that takes an element of its own whenever it runs: call
  /// it once. A run throws OutOfRangeError, the end of the input, once the queue is closed and empty.
  [[nodiscard]] TRAINHOOK_DECL std::vector<Output> dequeue(std::string_view name = {}) const;

  /// The next `n` elements, an int32 scalar, as one with a first dimension of that size; if the queue is closed and
  /// holds fewer, they stay there. @throws InvalidArgumentError for a queue without shapes.
  [[nodiscard]] TRAINHOOK_DECL std::vector<Output> dequeue_many(Output n, std::string_view name = {}) const;
  [[nodiscard]] TRAINHOOK_DECL std::vector<Output> dequeue_many(std::int32_t n, std::string_view name = {}) const;

  /// No more elements come: what is in the queue can still be taken. Enqueues that wait go on, unless
  /// `cancel_pending_enqueues`: then they throw CancelledError. Harmless if repeated; TensorFlow's fails then.
  TRAINHOOK_DECL Operation close(bool cancel_pending_enqueues = false, std::string_view name = {}) const;

  /// How many elements it holds, an int32 scalar.
  [[nodiscard]] TRAINHOOK_DECL Output size(std::string_view name = {}) const;

 private:
  /// The node's output. In TensorFlow it is a resource handle, a dtype that tensors of this library cannot have.
  [[nodiscard]] TRAINHOOK_DECL Output handle() const;

  /// As TensorFlow names them: the queue's name without its scopes, and what is done.
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
#include <trainhook/graph/ops/impl/queue.ipp>
#endif
