// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/data/stages.hpp>

#include <algorithm>
#include <exception>
#include <list>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/data/background_input.hpp>
#include <trainhook/data/iterator_state.hpp>

namespace trainhook::detail {

/// Threads take elements from the input in turn and call the function in parallel. Results keep the order of the input.
class ParallelMap final : public SourceThreads {
 public:
  /// `follower`, which may be null, is a second stream over the input, positioned after the consumed elements.
  ParallelMap(const NodePtr& input, const Pass& pass, std::unique_ptr<ElementStream> follower,
              std::shared_ptr<const MapCall> call, std::size_t threads)
      : SourceThreads("parallel map", input),
        input_(input->elements(pass), follower == nullptr),
        follower_(std::move(follower)),
        input_spec_(input->spec()),
        call_(std::move(call)),
        threads_wanted_(threads) {}

  bool next(Element& element) {
    process_.expect_here("this parallel map");
    if (count_threads() == 0) start();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return tasks_.empty() ? input_ended_ : tasks_.front().done; });
    if (tasks_.empty() && failure_ != nullptr) std::rethrow_exception(failure_);
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
  void save(StateWriter& writer) {
    if (follower_ != nullptr) return follower_->save(writer);
    process_.expect_here("this parallel map");
    const std::scoped_lock lock(mutex_);
    writer.boolean(input_ended_ || input_drained_);
    writer.integer(tasks_.size() + again_.size());
    for (const Task& task : tasks_) save_argument(writer, task);
    for (const Task& task : again_) save_argument(writer, task);
    input_.save(writer);
  }
  void restore(StateReader& reader) {
    if (follower_ != nullptr) {
      StateReader again = reader;
      input_.restore(again);
      return follower_->restore(reader);
    }
    input_drained_ = reader.boolean("the end of map's input");
    const std::uint64_t count = reader.integer("the number of elements in work");
    for (std::uint64_t i = 0; i < count; ++i) {
      Task& task = again_.emplace_back();
      task.error = reader.error();
      if (task.error == nullptr) task.argument = reader.element(input_spec_);
    }
    input_.restore(reader);
  }

 private:
  struct Task {
    std::optional<Element> argument{};  // kept for saving if there is no follower; none: the input threw `error`
    Element element{};
    std::exception_ptr error{};
    bool done = false;
  };

  static void save_argument(StateWriter& writer, const Task& task) {
    if (task.argument) {
      writer.element(*task.argument);
    } else {
      writer.error(task.error);
    }
  }

  [[nodiscard]] std::size_t most_tasks() const noexcept { return 2 * threads_wanted_; }

  void start() {
    try {
      while (count_threads() < threads_wanted_) start_thread([this] { work(); });
    } catch (const ResourceExhaustedError& error) {
      if (count_threads() == 0) throw;
      log_warning("{}; the map goes on with {} of {}", error.what(), count_threads(), threads_wanted_);
    }
  }

  /// Fetches the next argument, or the error in its place; nothing if there is none. Only one thread at a time does
  /// this, so that tasks keep the order of the input.
  std::list<Task> fetch(std::unique_lock<std::mutex>& lock) {
    std::list<Task> fetched;
    if (!again_.empty()) {
      fetched.splice(fetched.end(), again_, again_.begin());
      return fetched;
    }
    Task& task = fetched.emplace_back();  // before anything is read: there may be no memory
    try {
      Element argument;
      const auto outcome = input_drained_ ? BackgroundInput::Outcome::End : input_.next(lock, argument);
      if (outcome == BackgroundInput::Outcome::End) input_ended_ = true;
      if (outcome != BackgroundInput::Outcome::Element) return {};
      task.argument = std::move(argument);
    } catch (...) { task.error = std::current_exception(); }
    return fetched;
  }

  void work() noexcept {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] {
        return stopping_ || (!input_.is_reading() && !input_ended_ && tasks_.size() < most_tasks());
      });
      if (stopping_) return;
      std::list<Task> fetched;
      try {
        fetched = fetch(lock);
      } catch (...) {
        failure_ = std::current_exception();
        input_ended_ = true;
      }
      changed_.notify_all();  // another thread may fetch
      if (fetched.empty()) continue;
      Task& task = fetched.front();  // stays where it is when others are added or removed
      tasks_.splice(tasks_.end(), fetched);
      if (task.argument) compute(task, lock);
      task.done = true;
      changed_.notify_all();
    }
  }

  void compute(Task& task, std::unique_lock<std::mutex>& lock) {
    try {
      Element argument = follower_ == nullptr ? *task.argument : std::move(*task.argument);
      lock.unlock();
      Element result = (*call_)(std::move(argument));
      lock.lock();
      task.element = std::move(result);
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      task.error = std::current_exception();
    }
  }

  BackgroundInput input_;
  std::unique_ptr<ElementStream> follower_;
  ElementSpec input_spec_;
  std::shared_ptr<const MapCall> call_;
  std::size_t threads_wanted_;
  std::list<Task> tasks_;
  std::list<Task> again_;       // tasks of a restored state
  std::exception_ptr failure_;  // after which there are no more tasks
  bool input_drained_ = false;  // the input ended before the state was saved
  bool input_ended_ = false;
};

class ParallelMapStream final : public ElementStream {
 public:
  explicit ParallelMapStream(std::shared_ptr<ParallelMap> map) : map_(std::move(map)) {}

  bool next(Element& element) override { return map_->next(element); }
  void save(StateWriter& writer) override { map_->save(writer); }
  void restore(StateReader& reader) override { map_->restore(reader); }

 private:
  std::shared_ptr<ParallelMap> map_;
};

ParallelMapNode::ParallelMapNode(NodePtr input, MapFunction function, const ElementSpec& spec,
                                 std::int64_t num_parallel_calls)
    : DatasetNode({std::move(input)}, spec),
      call_(std::make_shared<MapCall>(MapCall{std::move(function), spec})),
      threads_(static_cast<std::size_t>(num_parallel_calls)) {}

std::string ParallelMapNode::describe() const { return fmt::format("parallel map{}", spec_to_string(spec())); }

std::unique_ptr<ElementStream> ParallelMapNode::elements(const Pass& pass) const {
  const NodePtr& input = inputs()[0];
  Pass shadow = pass.input();
  shadow.shadow = true;
  if (pass.shadow) return std::make_unique<MapStream>(input->elements(shadow), call_, false);
  return std::make_unique<ParallelMapStream>(make_source_threads<ParallelMap>(
      input, pass.input(), can_advance() ? input->elements(shadow) : nullptr, call_, threads_));
}

}  // namespace trainhook::detail
