// SPDX-License-Identifier: Apache-2.0
/// @file
/// QueueRunnerDef: describes how to fill a queue, in graphs and files. compat/queue_runner.hpp starts the threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <trainhook/graph/node.hpp>

namespace trainhook::detail {

/// The threads that fill one queue for one session.
struct QueueThreads {
  QueueThreads(const void* filled_for, std::size_t count) : session(filled_for), running(count) {}

  const void* const session;  ///< SessionRef::id()
  std::atomic<std::size_t> running;
  std::atomic<bool> told_to_stop = false;
};

/// All threads that fill one queue. Any thread may call `add`.
class QueueFillers {
 public:
  /// Adds threads before they are started. Returns false if the session has threads that are to go on.
  [[nodiscard]] bool add(const std::shared_ptr<QueueThreads>& threads) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(all_, [](const auto& other) { return other.expired(); });
    for (const auto& entry : all_) {
      const auto other = entry.lock();
      if (other != nullptr && other->session == threads->session && other->running > 0 && !other->told_to_stop)
        return false;
    }
    all_.push_back(threads);
    return true;
  }

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<QueueThreads>> all_;
};

/// An item of the collection `queue_runners`. Source: TensorFlow's message of that name.
struct QueueRunnerDef {
  std::string queue_name{};              ///< of the queue's node
  std::vector<Operation> enqueue_ops{};  ///< one thread each; empty: an imported graph has no runner for this queue
  Operation close_op{};                  ///< run when the last thread has ended; may be empty
  Operation cancel_op{};                 ///< run when a stop is requested; may be empty

  /// True once a thread that fills the queue has been started. Until then a dequeue throws instead of waiting forever.
  std::shared_ptr<std::atomic<bool>> started = std::make_shared<std::atomic<bool>>(false);

  std::shared_ptr<QueueFillers> fillers = std::make_shared<QueueFillers>();
};

}  // namespace trainhook::detail
