// SPDX-License-Identifier: Apache-2.0
/// @file
/// Plan: a request worked out once, as a list of steps over slots; Frame: the memory of one run of it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include <trainhook/core/clock.hpp>
#include <trainhook/engine/kernel.hpp>
#include <trainhook/engine/slots.hpp>
#include <trainhook/session/run_args.hpp>

namespace trainhook::detail {

/// Where a value is found during a run.
struct ValueSource {
  const Tensor* constant = nullptr;   // the same in every run
  VariableState* variable = nullptr;  // handed over as such, or, where fetched, read at the end of the run
  NodeState* state = nullptr;         // of the node it comes from, for resources
  std::uint32_t slot = kNoSlot;
  bool movable = false;  // its last use
};

struct PlanRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// One thing to do. Without a kernel it reads `read_from` into its output.
struct PlanStep {
  Node* node = nullptr;
  Kernel kernel{};
  NodeState* state = nullptr;
  VariableState* read_from = nullptr;
  PlanRange inputs{};
  PlanRange outputs{};
  PlanRange locks{};                        // variables, in the order in which all steps lock them
  PlanRange releases{};                     // slots that hold somebody else's buffer up to here
  std::uint32_t result_of_write = kNoSlot;  // slot for a handle of the first variable's new value
  bool may_initialize = false;
};

/// Where a fetched value comes from, and what becomes of its slot.
struct PlanResult {
  ValueSource source{};
  bool give_away = false;         // nobody else fetches it: the caller's old tensor takes its place
  std::uint32_t owner = kNoSlot;  // the slot whose buffer a shared value sits in
};

struct FeedCheck {
  Output key{};
  std::uint32_t slot = kNoSlot;  // kNoSlot: nobody needs it
};

/// The memory of one run. Kept between runs, so that a repeated request finds its buffers.
struct Frame {
  std::vector<Tensor> slots;
  std::vector<KernelContext::Input> inputs;
  std::vector<Tensor*> outputs;
  Tensor scratch;
};

struct Plan {
  std::vector<Fetch> fetches;
  std::vector<Output> feed_keys;

  std::vector<PlanStep> steps;
  std::vector<ValueSource> inputs;
  std::vector<std::uint32_t> outputs;
  std::vector<VariableState*> locks;
  std::vector<std::uint32_t> releases;
  std::vector<std::uint32_t> borrowed;  // all slots that may hold somebody else's buffer when a run is over
  std::vector<PlanResult> results;
  std::vector<FeedCheck> feeds;
  std::vector<std::unique_ptr<Tensor>> folded;
  std::uint32_t num_slots = 0;
  bool only_reads = false;  // every result is a variable's value

  [[nodiscard]] bool answers(const RunRequest& request) const noexcept {
    return std::ranges::equal(fetches, request.fetches) && std::ranges::equal(feed_keys, request.feeds, {}, {}, &Feed::key);
  }

  /// A frame for one run; given back afterwards.
  [[nodiscard]] std::unique_ptr<Frame> take_frame() {
    if (Frame* frame = spare_.exchange(nullptr, std::memory_order_acquire)) return std::unique_ptr<Frame>(frame);
    {
      const std::scoped_lock lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Frame> frame = std::move(idle_.back());
        idle_.pop_back();
        return frame;
      }
    }
    return new_frame();
  }

  /// What runs only once, as an initializer does, leaves no buffers behind.
  void give_frame(std::unique_ptr<Frame> frame) noexcept {
    if (first_run_.exchange(false, std::memory_order_relaxed)) return;
    Frame* none = nullptr;
    if (spare_.compare_exchange_strong(none, frame.get(), std::memory_order_release, std::memory_order_relaxed)) {
      static_cast<void>(frame.release());
      return;
    }
    const std::scoped_lock lock(mutex_);
    if (idle_.size() < idle_.capacity()) idle_.push_back(std::move(frame));
  }

  Plan() { idle_.reserve(64); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() { delete spare_.load(std::memory_order_acquire); }

 private:
  [[nodiscard]] std::unique_ptr<Frame> new_frame() const {
    auto frame = std::make_unique<Frame>();
    frame->slots.resize(num_slots);
    for (const ValueSource& source : inputs) {
      KernelContext::Input input;
      input.state = source.variable != nullptr ? source.variable : source.state;
      if (source.slot != kNoSlot) {
        input.value = &frame->slots[source.slot];
        if (source.movable) input.movable = &frame->slots[source.slot];
      } else {
        input.value = source.constant;
      }
      frame->inputs.push_back(input);
    }
    for (std::uint32_t slot : outputs) frame->outputs.push_back(&frame->slots[slot]);
    return frame;
  }

  std::atomic<Frame*> spare_{nullptr};
  std::atomic<bool> first_run_{true};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Frame>> idle_;
};

/// Throws the error again with `context` in front, as the same type. One of a type that a user derived stays as it is.
[[noreturn]] inline void throw_in_context(const Error& error, const std::string& context) {
  const std::string message = str_cat(context, ": ", error.what());
  try {
    throw_error(error.code(), message);
  } catch (const Error& explained) {
    if (typeid(explained) == typeid(error)) throw;
  }
  if (typeid(error) == typeid(Error)) throw Error(error.code(), message);
  throw;
}

/// Runs a plan once.
class PlanRun {
 public:
  PlanRun(Plan& plan, Clock& clock, const RunRequest& request) : plan_(plan), clock_(clock), request_(request), frame_(plan.take_frame()) {}
  PlanRun(const PlanRun&) = delete;
  PlanRun& operator=(const PlanRun&) = delete;
  ~PlanRun() {
    for (std::uint32_t slot : plan_.borrowed) frame_->slots[slot] = Tensor();
    plan_.give_frame(std::move(frame_));
  }

  void run(std::span<Tensor> results) {
    for (std::size_t i = 0; i < plan_.feeds.size(); ++i) {
      if (plan_.feeds[i].slot != kNoSlot) frame_->slots[plan_.feeds[i].slot] = request_.feeds[i].value;
    }
    const bool traced = request_.is_traced();
    const bool limited = request_.options != nullptr && request_.options->timeout.count() > 0;
    if (limited) deadline_ = RunDeadline{&clock_, deadline_after(clock_, request_.options->timeout), request_.options->timeout};
    traced || limited ? run_watched(traced) : run_steps();
    for (std::size_t i = 0; i < results.size(); ++i) give(plan_.results[i], results[i]);
  }

 private:
  void run_steps() {
    const PlanStep* current = nullptr;
    try {
      for (const PlanStep& step : plan_.steps) {
        current = &step;
        run_step(step);
      }
    } catch (const Error& error) { fail(*current, error); }
  }

  void run_watched(bool traced) {
    const auto micros = [this] { return static_cast<std::int64_t>(clock_.wall_seconds() * 1e6); };
    if (traced) request_.metadata->node_stats.clear();
    for (const PlanStep& step : plan_.steps) {
      const std::int64_t start = traced ? micros() : 0;
      try {
        if (deadline_ && clock_.monotonic_now() > deadline_->at) deadline_->fail();
        run_step(step);
      } catch (const Error& error) { fail(step, error); }
      if (traced) request_.metadata->node_stats.push_back({step.node->name(), step.node->type(), start, micros()});
    }
  }

  void run_step(const PlanStep& step) {
    if (step.read_from != nullptr) {
      step.read_from->read_into(frame_->slots[plan_.outputs[step.outputs.begin]]);
    } else if (step.locks.begin == step.locks.end) {
      call(step);
    } else {
      call_locked(step);
    }
    for (std::uint32_t i = step.releases.begin; i < step.releases.end; ++i) frame_->slots[plan_.releases[i]] = Tensor();
  }

  void call(const PlanStep& step) {
    KernelContext context = context_of(step);
    step.kernel(context);
    context.check_outputs();
  }

  void call_locked(const PlanStep& step) {
    const Locks locks(std::span(plan_.locks).subspan(step.locks.begin, step.locks.end - step.locks.begin));
    if (!step.may_initialize) locks.expect_values();
    call(step);
    if (step.result_of_write != kNoSlot) {
      frame_->slots[step.result_of_write] = static_cast<VariableState*>(frame_->inputs[step.inputs.begin].state)->value;
    }
  }

  [[nodiscard]] KernelContext context_of(const PlanStep& step) noexcept {
    return {*step.node,
            std::span(frame_->inputs).subspan(step.inputs.begin, step.inputs.end - step.inputs.begin),
            std::span(frame_->outputs).subspan(step.outputs.begin, step.outputs.end - step.outputs.begin),
            step.state,
            frame_->scratch,
            deadline_ ? &*deadline_ : nullptr};
  }

  class Locks {
   public:
    explicit Locks(std::span<VariableState* const> variables) : variables_(variables) {
      for (VariableState* variable : variables_) variable->mutex.lock();
    }
    Locks(const Locks&) = delete;
    Locks& operator=(const Locks&) = delete;
    ~Locks() {
      for (VariableState* variable : variables_) variable->mutex.unlock();
    }
    void expect_values() const {
      for (const VariableState* variable : variables_) variable->expect_value();
    }

   private:
    std::span<VariableState* const> variables_;
  };

  void give(const PlanResult& result, Tensor& target) {
    const ValueSource& source = result.source;
    if (source.variable != nullptr) {
      source.variable->read_into(target);
    } else if (source.constant != nullptr) {
      target = *source.constant;
    } else if (source.slot == kNoSlot) {
      target = Tensor();
    } else if (!result.give_away) {
      target = frame_->slots[source.slot];
    } else {
      if (!target.is_unique()) target = Tensor();
      std::swap(target, frame_->slots[source.slot]);
      if (result.owner != kNoSlot) std::swap(frame_->slots[result.owner], frame_->slots[source.slot]);
    }
  }

  [[noreturn]] void fail(const PlanStep& step, const Error& error) const {
    if (step.read_from != nullptr || std::string_view(error.what()).starts_with("Attempting to use uninitialized")) throw;
    std::string context = str_cat(step.node->name(), " (", step.node->type(), ")");
    const char* separator = " of ";
    for (std::uint32_t i = step.inputs.begin; i < step.inputs.end; ++i) {
      const KernelContext::Input& input = frame_->inputs[i];
      if (input.value == nullptr) continue;
      context += str_cat(separator, *input.value);
      separator = ", ";
    }
    throw_in_context(error, context);
  }

  Plan& plan_;
  Clock& clock_;
  const RunRequest& request_;
  std::unique_ptr<Frame> frame_;
  std::optional<RunDeadline> deadline_;
};

}  // namespace trainhook::detail
