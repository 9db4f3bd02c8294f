// SPDX-License-Identifier: Apache-2.0
/// @file
/// QueueRunnerDef: describes how to fill a queue, in graphs and files. session/queue_runner.hpp starts the threads.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <trainhook/graph/node.hpp>

namespace trainhook::detail {

/// An item of the collection `queue_runners`. Source: TensorFlow's message of that name.
struct QueueRunnerDef {
  std::string queue_name{};              ///< of the queue's node
  std::vector<Operation> enqueue_ops{};  ///< one thread each; empty: an imported graph has no runner for this queue
  Operation close_op{};                  ///< run when the last thread has ended; may be empty
  Operation cancel_op{};                 ///< run when a stop is requested; may be empty

  /// True once a thread that fills the queue has been started. Until then a dequeue throws instead of waiting forever.
  std::shared_ptr<std::atomic<bool>> started = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace trainhook::detail
