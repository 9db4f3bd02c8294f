// SPDX-License-Identifier: Apache-2.0
/// @file
/// QueueRunner: threads that keep a queue of the graph filled while the session runs.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/queue_runner_def.hpp>
#include <trainhook/session/clean_stop.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

class Coordinator;

struct QueueRunnerOptions {
  std::vector<Operation> enqueue_ops{};  ///< one thread each; an operation may be listed several times
  Operation close_op{};                  ///< run when the last of them has ended; may be empty
  Operation cancel_op{};  ///< run when a stop is requested, so that no thread stays blocked; may be empty
  IsCleanStop queue_closed_exception_types = is_end_of_input;  ///< errors that mean that there is no more input
};

/// Keeps a queue filled. It is in the graph's collection of queue runners; a monitored session starts its threads. The
/// engine's `execute` must be thread-safe. Source: TensorFlow's `QueueRunner`.
class QueueRunner {
 public:
  /// @throws InvalidArgumentError without an enqueue op, or for an empty one.
  TRAINHOOK_DECL explicit QueueRunner(QueueRunnerOptions options);

  /// Starts a thread for each enqueue op, and one that waits for the stop. An error that does not mean the end of the
  /// queue stops the coordinator. `keep_alive` owns the session, for threads that are abandoned.
  TRAINHOOK_DECL void create_threads(SessionRef session, Coordinator& coordinator,
                                     const std::shared_ptr<void>& keep_alive = nullptr) const;

 private:
  TRAINHOOK_DECL static void run_if_given(SessionRef session, const Operation& op);

  QueueRunnerOptions options_;
};

/// Adds a runner to the graph's collection. Source: `tf.compat.v1.train.add_queue_runner`.
TRAINHOOK_DECL void add_queue_runner(Graph& graph, QueueRunnerOptions options);

namespace detail {

/// Adds a runner that goes into exported files, too. @throws as QueueRunner.
TRAINHOOK_DECL void add_queue_runner_def(Graph& graph, QueueRunnerDef runner);

/// For a session whose queues are filled by another session of the same graph, which may start a moment later.
TRAINHOOK_DECL void expect_queue_runners(const Graph& graph);

}  // namespace detail

/// The same as TensorFlow's `QueueRunner(queue, enqueue_ops)`, and part of exported files: the queue is closed when all
/// `enqueue_ops` have ended, and a stop wakes everything that waits for the queue.
/// @param queue a FIFOQueue
template <class Queue>
  requires requires(const Queue& queue) { Operation(queue.close(true)).graph(); }
void add_queue_runner(const Queue& queue, std::vector<Operation> enqueue_ops) {
  const Operation close = queue.close();
  detail::add_queue_runner_def(close.graph(), {.queue_name = queue.name(),
                                               .enqueue_ops = std::move(enqueue_ops),
                                               .close_op = close,
                                               .cancel_op = queue.close(true)});
}

/// Starts the threads of all runners of the session's graph, also of those that came with an imported graph. A
/// monitored session does so itself, unless it is a worker's: its chief's threads fill the queues for both. Source:
/// `tf.compat.v1.train.start_queue_runners`.
TRAINHOOK_DECL void start_queue_runners(SessionRef session, Coordinator& coordinator,
                                        const std::shared_ptr<void>& keep_alive = nullptr);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/session/impl/queue_runner.ipp>
#endif
