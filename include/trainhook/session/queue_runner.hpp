// SPDX-License-Identifier: Apache-2.0
/// @file
/// QueueRunner: threads that keep a queue of the graph filled while the session runs.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>
#include <vector>

#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/graph_keys.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

struct QueueRunnerOptions {
  std::vector<Operation> enqueue_ops{};  ///< one thread each; the same one may stand there several times
  Operation close_op{};                  ///< run when the last of them has come to its end; may be empty
  Operation cancel_op{};                 ///< run when a stop is requested, so that no thread stays blocked; may be empty
  IsCleanStop queue_closed_exception_types = is_end_of_input;  ///< which errors mean that there is nothing more to enqueue
};

/// Belongs to the graph, in its collection of queue runners; a monitored session starts the threads. The engine's `execute` must be
/// thread-safe. Source: TensorFlow's `QueueRunner`.
class QueueRunner {
 public:
  /// @throws InvalidArgumentError without an enqueue op, or for an empty one.
  explicit QueueRunner(QueueRunnerOptions options) : options_(std::move(options)) {
    if (options_.enqueue_ops.empty()) throw InvalidArgumentError("QueueRunner: enqueue_ops is empty; give at least one operation");
    for (const Operation& op : options_.enqueue_ops) {
      if (!op.has_value()) throw InvalidArgumentError("QueueRunner: an element of enqueue_ops is empty: it names no operation");
    }
  }

  /// Starts a thread for each enqueue op and one that waits for the stop. An error that does not mean the queue's end stops the
  /// coordinator. `keep_alive` holds the session for threads that are left behind.
  void create_threads(SessionRef session, Coordinator& coordinator, const std::shared_ptr<void>& keep_alive = nullptr) const {
    const auto running = std::make_shared<std::atomic<std::size_t>>(options_.enqueue_ops.size());
    for (const Operation& op : options_.enqueue_ops) {
      coordinator.start_thread([options = options_, op, session, keep_alive, running](const std::stop_token& stop) mutable {
        std::exception_ptr failure;
        try {
          while (!stop.stop_requested()) session.run(op);
        } catch (...) {
          failure = std::current_exception();
        }
        const bool is_last = --*running == 0;
        const bool has_ended = failure == nullptr || options.queue_closed_exception_types(failure);
        if (is_last && has_ended && !stop.stop_requested()) run_if_given(session, options.close_op);
        if (!has_ended && !stop.stop_requested()) std::rethrow_exception(failure);  // after a stop it is but the cancelled run
      });
    }
    if (!options_.cancel_op.has_value()) return;
    coordinator.start_thread([cancel = options_.cancel_op, session, keep_alive](const std::stop_token& stop) {
      std::mutex mutex;
      std::condition_variable_any never;
      std::unique_lock lock(mutex);
      never.wait(lock, stop, [] { return false; });
      run_if_given(session, cancel);
    });
  }

 private:
  static void run_if_given(SessionRef session, const Operation& op) {
    if (op.has_value()) session.run(op);
  }

  QueueRunnerOptions options_;
};

/// Adds a runner to the graph's collection. Source: `tf.compat.v1.train.add_queue_runner`.
inline void add_queue_runner(Graph& graph, QueueRunnerOptions options) {
  graph.add_to_collection(graph_keys::kQueueRunners, std::make_shared<QueueRunner>(std::move(options)));
}

/// As TensorFlow's `QueueRunner(queue, enqueue_ops)`: the queue is closed when they come to their end, and a stop wakes what waits at it.
/// @param queue a FIFOQueue
template <class Queue>
  requires requires(const Queue& queue) { Operation(queue.close(true)).graph(); }
void add_queue_runner(const Queue& queue, std::vector<Operation> enqueue_ops) {
  const Operation close = queue.close();
  add_queue_runner(close.graph(), {.enqueue_ops = std::move(enqueue_ops), .close_op = close, .cancel_op = queue.close(true)});
}

/// Starts the threads of all runners of the session's graph. Source: `tf.compat.v1.train.start_queue_runners`.
inline void start_queue_runners(SessionRef session, Coordinator& coordinator, const std::shared_ptr<void>& keep_alive = nullptr) {
  for (const auto& runner : session.graph().collection<std::shared_ptr<QueueRunner>>(graph_keys::kQueueRunners))
    runner->create_threads(session, coordinator, keep_alive);
}

}  // namespace trainhook
