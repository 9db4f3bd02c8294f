// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of parallel_map.hpp.
#pragma once

#include <trainhook/data/parallel_map.hpp>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/data/iterator_state.hpp>

namespace trainhook::detail {

/// Threads take elements from the input in turn and call the function side by side; results leave in the order of the
/// input.
class ParallelMapStream final : public ElementStream {
 public:
  /// `follower`, if there is one, is a second stream over the input that holds the place of what was consumed.
  ParallelMapStream(std::unique_ptr<ElementStream> input, std::unique_ptr<ElementStream> follower,
                    ElementSpec input_spec, std::shared_ptr<const MapCall> call, std::size_t threads)
      : input_(std::move(input)),
        follower_(std::move(follower)),
        input_spec_(std::move(input_spec)),
        call_(std::move(call)),
        threads_wanted_(threads) {}
  ParallelMapStream(const ParallelMapStream&) = delete;
  ParallelMapStream& operator=(const ParallelMapStream&) = delete;
  ~ParallelMapStream() override {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  bool next(Element& element) override {
    if (threads_.empty()) start();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return tasks_.empty() ? input_ended_ : tasks_.front().done; });
    if (tasks_.empty()) return false;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    changed_.notify_all();
    if (follower_ != nullptr) follower_->advance(1);
    if (task.error != nullptr) std::rethrow_exception(task.error);
    element = std::move(task.element);
    return true;
  }
  void save(StateWriter& writer) override {
    if (follower_ != nullptr) return follower_->save(writer);
    std::unique_lock lock(mutex_);
    // Equal positions get equal bytes, however the threads ran: all that can be in work is.
    if (!threads_.empty()) changed_.wait(lock, [this] { return input_ended_ || tasks_.size() == most_tasks(); });
    writer.boolean(input_ended_ || input_drained_);
    const auto count = std::ranges::count_if(tasks_, [](const Task& task) { return !task.argument.empty(); });
    writer.integer(static_cast<std::uint64_t>(count) + again_.size());
    for (const Task& task : tasks_) {
      if (!task.argument.empty()) writer.element(task.argument);
    }
    for (const Element& argument : again_) writer.element(argument);
    input_->save(writer);
  }
  void restore(StateReader& reader) override {
    if (follower_ != nullptr) {
      StateReader again = reader;
      input_->restore(again);
      return follower_->restore(reader);
    }
    input_drained_ = reader.boolean("the end of map's input");
    const std::uint64_t count = reader.integer("the number of elements in work");
    for (std::uint64_t i = 0; i < count; ++i) again_.push_back(reader.element(input_spec_));
    input_->restore(reader);
  }

 private:
  struct Task {
    Element argument{};  // kept for saving if there is no follower
    Element element{};
    std::exception_ptr error{};
    bool done = false;
  };

  [[nodiscard]] std::size_t most_tasks() const noexcept { return 2 * threads_wanted_; }

  void start() {
    try {
      while (threads_.size() < threads_wanted_) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error& error) {
      if (threads_.empty())
        throw ResourceExhaustedError("map cannot start a thread: {}", error.what());  // fewer do as well
    }
  }

  /// Fetches the next argument; only with the lock held, so that the order of tasks is that of the input.
  bool fetch(Element& argument) {
    if (!again_.empty()) {
      argument = std::move(again_.front());
      again_.pop_front();
      return true;
    }
    return !input_drained_ && input_->next(argument);
  }

  void work() noexcept {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopping_ || (!input_ended_ && tasks_.size() < most_tasks()); });
      if (stopping_) return;
      Task& task = tasks_.emplace_back();  // a deque does not move it when others are added or removed
      try {
        if (!fetch(task.element)) {
          tasks_.pop_back();
          input_ended_ = true;
          changed_.notify_all();
          continue;
        }
        if (follower_ == nullptr) task.argument = task.element;
        lock.unlock();
        Element result = (*call_)(std::move(task.element));
        lock.lock();
        task.element = std::move(result);
      } catch (...) {
        if (!lock.owns_lock()) lock.lock();
        task.error = std::current_exception();
      }
      task.done = true;
      changed_.notify_all();
    }
  }

  std::unique_ptr<ElementStream> input_, follower_;
  ElementSpec input_spec_;
  std::shared_ptr<const MapCall> call_;
  std::size_t threads_wanted_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::deque<Element> again_;   // arguments that a restored state had in work
  bool input_drained_ = false;  // ended before the state was saved
  bool input_ended_ = false;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

TRAINHOOK_DECL ParallelMapNode::ParallelMapNode(NodePtr input, MapFunction function, const ElementSpec& spec,
                                                std::int64_t num_parallel_calls)
    : DatasetNode({std::move(input)}, spec),
      call_(std::make_shared<MapCall>(MapCall{std::move(function), spec})),
      threads_(static_cast<std::size_t>(num_parallel_calls)) {}

TRAINHOOK_DECL std::string ParallelMapNode::describe() const {
  return fmt::format("parallel map{}", spec_to_string(spec()));
}

TRAINHOOK_DECL std::unique_ptr<ElementStream> ParallelMapNode::elements(const Pass& pass) const {
  const DatasetNode& input = *inputs()[0];
  Pass shadow = pass.input();
  shadow.shadow = true;
  if (pass.shadow) return std::make_unique<MapStream>(input.elements(shadow), call_, false);
  return std::make_unique<ParallelMapStream>(
      input.elements(pass.input()), can_advance() ? input.elements(shadow) : nullptr, input.spec(), call_, threads_);
}

}  // namespace trainhook::detail
