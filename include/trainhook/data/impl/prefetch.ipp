// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/data/stages.hpp>

#include <cstddef>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/data/background_input.hpp>
#include <trainhook/data/element.hpp>
#include <trainhook/data/iterator_state.hpp>

namespace trainhook::detail {

/// Runs a stream on a background thread, which the first `next` starts. Call it from one thread at a time.
class BackgroundReader final : public SourceThreads {
 public:
  BackgroundReader(const NodePtr& input, const Pass& pass, std::size_t capacity, bool is_saved)
      : SourceThreads("prefetch", input), input_(input->elements(pass), is_saved), slots_(capacity) {}

  /// Fetches the next element, or throws the error that the input threw in its place. The thread reuses the tensors
  /// that `element` held.
  bool next(Element& element) {
    process_.expect_here("this prefetch");
    if (count_threads() == 0) start_thread([this] { read_ahead(); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return count_ > 0 || ended_ || error_ != nullptr; });
    if (count_ > 0) {
      std::swap(element, slots_[head_]);
      head_ = (head_ + 1) % slots_.size();
      --count_;
      changed_.notify_all();
      return true;
    }
    if (error_ == nullptr) return false;
    const std::exception_ptr error =
        std::exchange(error_, nullptr);  // the input continues after the element that failed
    changed_.notify_all();
    std::rethrow_exception(error);
  }

  /// Writes the elements that are ready and the input's position after them, without waiting. How many are ready
  /// depends on the thread; the elements after a restore do not.
  void save(StateWriter& writer) {
    process_.expect_here("this prefetch");
    const std::scoped_lock lock(mutex_);
    writer.boolean(ended_);
    writer.integer(count_);
    for (std::size_t i = 0; i < count_; ++i) writer.element(slots_[(head_ + i) % slots_.size()]);
    if (error_ != nullptr) writer.error(error_);
    input_.save(writer);
  }
  /// Call it only before the first `next`.
  void restore(StateReader& reader, const ElementSpec& spec) {
    ended_ = reader.boolean("the end of prefetch's input");
    const std::uint64_t count = reader.integer("the fill of prefetch's buffer");
    if (count > slots_.size()) slots_.clear();  // saved with a larger buffer
    for (; count_ < count; ++count_) {
      Element element = reader.element(spec);
      if (count_ < slots_.size()) {
        slots_[count_] = std::move(element);
      } else {
        slots_.push_back(std::move(element));
      }
    }
    error_ = reader.error();
    input_.restore(reader);
  }
  /// Call it only before the first `next`.
  void restore_input(StateReader& reader) { input_.restore(reader); }

 private:
  void read_ahead() noexcept {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopping_ || (!ended_ && error_ == nullptr && count_ < slots_.size()); });
      if (stopping_) return;
      Element& slot = slots_[(head_ + count_) % slots_.size()];  // not ready yet, so only this thread uses it
      try {
        const BackgroundInput::Outcome outcome = input_.next(lock, slot);
        if (outcome == BackgroundInput::Outcome::Element) ++count_;
        if (outcome == BackgroundInput::Outcome::End) ended_ = true;
      } catch (...) { error_ = std::current_exception(); }
      changed_.notify_all();
    }
  }

  BackgroundInput input_;
  std::vector<Element> slots_;  // a ring: `count_` of them, from `head_` on, are ready
  std::size_t head_ = 0;
  std::size_t count_ = 0;
  std::exception_ptr error_;
  bool ended_ = false;
};

/// For an input that can be advanced: a second stream over it follows the consumed elements, and only that stream is
/// saved. The state equals that of the pipeline without prefetch, and a save does not wait.
class FollowedPrefetchStream final : public ElementStream {
 public:
  FollowedPrefetchStream(const NodePtr& input, const Pass& pass, std::size_t capacity)
      : reader_(make_source_threads<BackgroundReader>(input, pass, capacity, false)),
        consumed_(input->elements(shadow_of(pass))) {}

  bool next(Element& element) override {
    bool got = false;
    try {
      got = reader_->next(element);
    } catch (...) {
      consumed_->advance(1);  // an element that failed counts as consumed
      throw;
    }
    if (got) consumed_->advance(1);
    return got;
  }
  void save(StateWriter& writer) override { consumed_->save(writer); }
  void restore(StateReader& reader) override {
    StateReader again = reader;
    reader_->restore_input(again);
    consumed_->restore(reader);
  }

 private:
  static Pass shadow_of(Pass pass) noexcept {
    pass.shadow = true;
    return pass;
  }
  std::shared_ptr<BackgroundReader> reader_;
  std::unique_ptr<ElementStream> consumed_;
};

/// For any other input: saves the contents of the elements that are ready.
class BufferedPrefetchStream final : public ElementStream {
 public:
  BufferedPrefetchStream(const NodePtr& input, const Pass& pass, std::size_t capacity)
      : spec_(input->spec()), reader_(make_source_threads<BackgroundReader>(input, pass, capacity, true)) {}

  bool next(Element& element) override { return reader_->next(element); }
  void save(StateWriter& writer) override { reader_->save(writer); }
  void restore(StateReader& reader) override { reader_->restore(reader, spec_); }

 private:
  ElementSpec spec_;
  std::shared_ptr<BackgroundReader> reader_;
};

PrefetchNode::PrefetchNode(NodePtr input, std::int64_t buffer_size)
    : DatasetNode({input}, input->spec()), buffer_size_(buffer_size) {
  if (buffer_size < 1) throw InvalidArgumentError("prefetch: buffer_size {} is not positive", buffer_size);
}

std::string PrefetchNode::describe() const { return can_advance() ? "" : "prefetch"; }

std::unique_ptr<ElementStream> PrefetchNode::elements(const Pass& pass) const {
  const NodePtr& input = inputs()[0];
  const auto capacity = static_cast<std::size_t>(buffer_size_);
  if (pass.shadow) return input->elements(pass.input());
  if (can_advance()) return std::make_unique<FollowedPrefetchStream>(input, pass.input(), capacity);
  return std::make_unique<BufferedPrefetchStream>(input, pass.input(), capacity);
}

}  // namespace trainhook::detail
