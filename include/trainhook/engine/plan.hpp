// SPDX-License-Identifier: Apache-2.0
/// @file
/// Plan: a request worked out once, as a list of steps over slots; Frame: the memory of one run of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/engine/kernel.hpp>
#include <trainhook/engine/slots.hpp>
#include <trainhook/graph/node.hpp>
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

/// What a predicate must be so that a step runs.
struct PlanCondition {
  ValueSource predicate{};
  bool is_true = false;
};

/// One thing to do. Without a kernel it reads `read_from` into its output.
struct PlanStep {
  Node* node = nullptr;
  Kernel kernel{};
  NodeState* state = nullptr;
  VariableState* read_from = nullptr;
  PlanRange inputs{};
  PlanRange outputs{};
  PlanRange conditions{};                   // all must hold, else the step is left out
  PlanRange locks{};                        // variables, in the order in which all steps lock them
  PlanRange releases{};                     // slots that hold somebody else's buffer up to here
  std::uint32_t result_of_write = kNoSlot;  // slot for a handle of the first variable's new value
  bool may_initialize = false;
};

/// Where a fetched value comes from, and what becomes of its slot.
struct PlanResult {
  ValueSource source{};
  PlanRange conditions{};         // all must hold, else there is no value
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
  std::vector<PlanCondition> conditions;
  std::vector<std::uint32_t> releases;
  std::vector<std::uint32_t> borrowed;  // all slots that may hold somebody else's buffer when a run is over
  std::vector<PlanResult> results;
  std::vector<FeedCheck> feeds;
  std::vector<std::unique_ptr<Tensor>> folded;
  std::uint32_t num_slots = 0;
  bool only_reads = false;  // every result is a variable's value

  [[nodiscard]] TRAINHOOK_DECL bool answers(const RunRequest& request) const noexcept;

  /// A frame for one run; given back afterwards.
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<Frame> take_frame();

  /// What runs only once, as an initializer does, leaves no buffers behind.
  TRAINHOOK_DECL void give_frame(std::unique_ptr<Frame> frame) noexcept;

  Plan() { idle_.reserve(64); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() { delete spare_.load(std::memory_order_acquire); }

 private:
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<Frame> new_frame() const;

  std::atomic<Frame*> spare_{nullptr};
  std::atomic<bool> first_run_{true};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Frame>> idle_;
};

/// Runs a plan once.
class PlanRun {
 public:
  TRAINHOOK_DECL PlanRun(Plan& plan, Clock& clock, const RunRequest& request);
  PlanRun(const PlanRun&) = delete;
  PlanRun& operator=(const PlanRun&) = delete;
  TRAINHOOK_DECL ~PlanRun();
  TRAINHOOK_DECL void run(std::span<Tensor> results);

 private:
  TRAINHOOK_DECL void run_steps();
  TRAINHOOK_DECL void run_watched(bool traced);
  TRAINHOOK_DECL void run_step(const PlanStep& step);
  [[nodiscard]] TRAINHOOK_DECL bool hold(const PlanRange& conditions) const;
  TRAINHOOK_DECL void expect_values() const;
  TRAINHOOK_DECL void call(const PlanStep& step);
  TRAINHOOK_DECL void call_locked(const PlanStep& step);
  [[nodiscard]] TRAINHOOK_DECL KernelContext context_of(const PlanStep& step) noexcept;

  class Locks {
   public:
    TRAINHOOK_DECL explicit Locks(std::span<VariableState* const> variables);
    Locks(const Locks&) = delete;
    Locks& operator=(const Locks&) = delete;
    TRAINHOOK_DECL ~Locks();
    TRAINHOOK_DECL void expect_values() const;

   private:
    std::span<VariableState* const> variables_;
  };

  TRAINHOOK_DECL void give(const PlanResult& result, Tensor& target);
  [[noreturn]] TRAINHOOK_DECL void fail(const PlanStep& step, const Error& error) const;

  Plan& plan_;
  Clock& clock_;
  const RunRequest& request_;
  std::unique_ptr<Frame> frame_;
  std::optional<RunDeadline> deadline_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/impl/plan.ipp>
#endif
