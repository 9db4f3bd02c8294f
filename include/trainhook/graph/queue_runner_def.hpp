// SPDX-License-Identifier: Apache-2.0
/// @file
/// QueueRunnerDef: what fills a queue, as graphs and files hold it. session/queue_runner.hpp makes threads of it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <trainhook/graph/node.hpp>

namespace trainhook {

/// An item of the collection `queue_runners`. Source: TensorFlow's message of that name.
struct QueueRunnerDef {
  std::string queue_name{};              ///< of the queue's node
  std::vector<Operation> enqueue_ops{};  ///< one thread each; empty: the graph came without a runner for this queue
  Operation close_op{};                  ///< run when the last of them has ended; may be empty
  Operation cancel_op{};                 ///< run when a stop is requested; may be empty

  /// True once a thread has been started that fills the queue. Until then a dequeue is an error, not a wait for ever.
  std::shared_ptr<std::atomic<bool>> started = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace trainhook
