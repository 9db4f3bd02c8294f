// SPDX-License-Identifier: Apache-2.0
/// @file
/// SourceThreads: threads that read a pipeline's source ahead, and may be left behind in it. BackgroundInput: the input
/// of a stage that has such threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/process_mark.hpp>
#include <trainhook/core/thread.hpp>
#include <trainhook/data/dataset_node.hpp>
#include <trainhook/data/element.hpp>
#include <trainhook/data/iterator_state.hpp>

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

/// An input that threads read, one at a time, while another thread may save it. A save never waits for the source,
/// which may be slow or may wait for the training: during a read, it saves the position before that read. A long
/// position, such as a shuffle buffer with its contents, is not taken before each read. Instead the elements read since
/// are counted, and a restored input reads them again and drops them.
///
/// The stage's mutex guards all members.
class BackgroundInput {
 public:
  enum class Outcome {
    Element,
    Dropped,  ///< an element that a restored input had delivered before it was saved
    End
  };

  /// @param is_saved false if `save` is never called
  BackgroundInput(std::unique_ptr<ElementStream> stream, bool is_saved) noexcept
      : stream_(std::move(stream)), is_saved_(is_saved) {}

  /// Whether a thread is in `next`.
  [[nodiscard]] bool is_reading() const noexcept { return is_reading_; }

  /// Reads one element and releases `lock` meanwhile. Call it only if no other thread reads.
  TRAINHOOK_DECL Outcome next(std::unique_lock<std::mutex>& lock, Element& element);

  TRAINHOOK_DECL void save(StateWriter& writer) const;

  /// Call it only before the first `next`.
  TRAINHOOK_DECL void restore(StateReader& reader);

 private:
  TRAINHOOK_DECL void take_position() noexcept;

  std::unique_ptr<ElementStream> stream_;
  bool is_saved_;
  std::uint64_t to_replay_ = 0;  // elements to read again and drop
  bool is_reading_ = false;
  std::optional<StateWriter> position_;  // of the stream, before one of the last reads
  std::exception_ptr position_failure_;  // why `position_` is empty
  std::uint64_t replay_position_ = 0;    // elements between `position_` and the next one to deliver
  std::uint64_t bytes_since_ = 0;        // that were read after `position_`
  bool needs_position_ = false;          // the next read takes a position in any case
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/data/impl/background_input.ipp>
#endif
