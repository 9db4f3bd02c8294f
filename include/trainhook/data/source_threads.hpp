// SPDX-License-Identifier: Apache-2.0
/// @file
/// SourceThreads: threads that read a pipeline's source ahead, and may be left behind in it.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/process_mark.hpp>
#include <trainhook/core/thread.hpp>
#include <trainhook/data/dataset_node.hpp>

namespace trainhook::detail {

/// How long the end of a pipeline waits for a source that does not return. Tests set it before they make pipelines.
inline constinit Duration longest_wait_for_a_source = std::chrono::seconds(30);

/// What such threads share with the stream that started them. A source may wait for ever, for example for a pipe that
/// nobody writes: after `longest_wait_for_a_source` its thread is detached, with a log line, and what it uses lives
/// until it returns.
class SourceThreads : public std::enable_shared_from_this<SourceThreads> {
 public:
  SourceThreads(const SourceThreads&) = delete;
  SourceThreads& operator=(const SourceThreads&) = delete;
  TRAINHOOK_DECL virtual ~SourceThreads();

  /// Ends them. The owner calls it; then no other member may be called.
  TRAINHOOK_DECL void end() noexcept;

 protected:
  /// @param what for messages: "prefetch"; must outlive this
  /// @param input kept as long as a thread may use it
  SourceThreads(std::string_view what, NodePtr input) : what_(what), input_node_(std::move(input)) {}

  [[nodiscard]] std::size_t count_threads() const noexcept { return threads_.size(); }

  /// @throws ResourceExhaustedError if the system has no more threads
  TRAINHOOK_DECL void start_thread(std::function<void()> body);

  std::mutex mutex_;
  WaitCondition changed_;
  bool stopping_ = false;
  ProcessMark process_;

 private:
  std::string_view what_;
  NodePtr input_node_;
  std::size_t running_ = 0;
  std::vector<Thread> threads_;
};

/// Makes some whose owner is the last copy of the pointer.
template <class Threads, class... Arguments>
std::shared_ptr<Threads> make_source_threads(Arguments&&... arguments) {
  auto threads = std::make_shared<Threads>(std::forward<Arguments>(arguments)...);
  Threads* const plain = threads.get();
  return std::shared_ptr<Threads>(plain, [threads = std::move(threads)](Threads*) { threads->end(); });
}

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/data/impl/source_threads.ipp>
#endif
