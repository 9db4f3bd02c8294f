// SPDX-License-Identifier: Apache-2.0
/// @file
/// QueueRunner: threads that keep a queue of the graph filled while the session runs; and their import.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/model/queue_runner_def.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

struct QueueRunnerOptions {
  std::vector<Operation> enqueue_ops{};  ///< one thread per entry; an operation may occur several times
  Operation close_op{};                  ///< run when the last thread has ended; may be empty
  Operation cancel_op{};                 ///< run on a stop request, to unblock the threads; may be empty
  IsCleanStop queue_closed_exception_types = is_end_of_input;  ///< errors that mean the end of the input
};

/// Keeps a queue filled. Add it to the graph with `add_queue_runner`; a monitored session starts its threads. The
/// engine's `execute` must be thread-safe. Source: TensorFlow's `QueueRunner`.
class QueueRunner {
 public:
  /// @throws InvalidArgumentError if there is no enqueue op, or an empty one.
  /// @param fillers for the library: of a runner that is described in the graph
  TRAINHOOK_DECL explicit QueueRunner(QueueRunnerOptions options, std::shared_ptr<detail::QueueFillers> fillers =
                                                                      std::make_shared<detail::QueueFillers>());

  /// Starts a thread per enqueue op, and one that waits for the stop. An error other than the end of the queue requests
  /// a stop with that error. Does nothing if threads that it started for this session are running and not told to stop,
  /// as those of a monitored session are. `keep_alive` owns the session for as long as an abandoned thread uses it.
  TRAINHOOK_DECL void create_threads(SessionRef session, Coordinator& coordinator,
                                     const std::shared_ptr<void>& keep_alive = nullptr) const;

 private:
  QueueRunnerOptions options_;
  std::shared_ptr<detail::QueueFillers> fillers_;
};

/// Adds a runner to the graph's collection. Source: `tf.compat.v1.train.add_queue_runner`.
TRAINHOOK_DECL void add_queue_runner(Graph& graph, QueueRunnerOptions options);

namespace detail {

/// Adds a runner that is also exported with the graph. @throws as QueueRunner.
TRAINHOOK_DECL void add_queue_runner_def(Graph& graph, QueueRunnerDef runner);

/// Adds the queue runners of serialized QueueRunnerDefs, whose nodes are in the graph under `prefix`. Skips those with
/// a node that is missing or cannot run, with a warning that says why.
/// @param source names the file
TRAINHOOK_DECL void import_queue_runners(Graph& graph, const std::vector<std::string>& messages,
                                         const std::string& prefix, std::string_view source);

/// Records which imported queues have no queue runner, so that nothing fills them, and logs a warning with their names.
TRAINHOOK_DECL void note_unfilled_queues(Graph& graph, std::span<const Operation> imported, std::string_view source);

}  // namespace detail

/// TensorFlow's `QueueRunner(queue, enqueue_ops)`, which is exported with the graph: it closes the queue when all
/// `enqueue_ops` have ended, and a stop request wakes every thread that waits for the queue.
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

/// Starts the threads of all runners of the session's graph, including those of an imported graph. A monitored session
/// calls it itself, except a worker's: the chief's threads fill the queues for both. Calling it again for the same
/// session starts no second threads. Source: `tf.compat.v1.train.start_queue_runners`.
TRAINHOOK_DECL void start_queue_runners(SessionRef session, Coordinator& coordinator,
                                        const std::shared_ptr<void>& keep_alive = nullptr);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/impl/queue_runner.ipp>
#endif
