// SPDX-License-Identifier: Apache-2.0
/// @file
/// Plan: the list of steps over slots that computes a request. Frame: the memory of one run of a plan. A slot is a
/// place in it, reused when the value there is dead.
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
#include <trainhook/engine/kernel_threads.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/session/run_args.hpp>

namespace trainhook::detail {

/// Marks an absent value or slot.
inline constexpr std::uint32_t kNone = 0xffffffff;

enum class ValueKind {
  Constant,  // the same in every run
  Variable,  // passed as such or, if fetched, read at the end of the run
  Resource,  // the state of another node, passed as such
  Owned,     // written by a kernel into its slot
  Borrowed,  // a handle, in its slot, of a buffer that belongs elsewhere
};

/// Everything that is known of a value. Steps and results name it by its number in `Plan::values`.
struct PlanValue {
  ValueKind kind = ValueKind::Owned;
  const Tensor* constant = nullptr;
  NodeState* state = nullptr;        // the variable or resource; of a handle, the variable that it was read from
  const OutputSpec* spec = nullptr;  // of the output that gives it
  std::uint32_t root = kNone;        // the value in a slot whose buffer it shares; itself if it shares none
  std::uint32_t slot = kNone;

  // Set before slots are assigned:
  std::uint32_t uses = 0;      // as an input, a predicate or a result; and by each value that shares its buffer
  std::uint32_t fetches = 0;   // results in its buffer
  std::uint32_t last_use = 0;  // the index of a step; the number of steps if it is fetched

  /// The variable that it is, or was read from; null for any other value.
  [[nodiscard]] VariableState* variable() const noexcept {
    return kind == ValueKind::Resource ? nullptr : static_cast<VariableState*>(state);
  }

  /// True if the one step that uses it may take its buffer away.
  [[nodiscard]] bool is_movable() const noexcept { return kind == ValueKind::Owned && uses == 1; }
};

/// A part of one of the lists of a plan.
struct PlanRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  [[nodiscard]] bool empty() const noexcept { return begin == end; }

  template <class T>
  [[nodiscard]] std::span<const T> of(const std::vector<T>& list) const noexcept {
    return std::span(list).subspan(begin, end - begin);
  }
};

/// The value that a predicate must have for a step to run.
struct PlanCondition {
  std::uint32_t predicate = kNone;
  bool is_true = false;
};

/// A step of a plan. Without a kernel it reads `read_from` into its output.
struct PlanStep {
  Node* node = nullptr;
  Kernel kernel{};
  NodeState* state = nullptr;
  VariableState* read_from = nullptr;
  PlanRange inputs{};
  PlanRange outputs{};
  PlanRange conditions{};                 // all must hold, else the step is left out
  PlanRange locks{};                      // variables, in the order in which all steps lock them
  PlanRange releases{};                   // slots whose handles are released after this step
  std::uint32_t result_of_write = kNone;  // a handle of the first variable's new value
  bool may_initialize = false;
};

/// The value of a fetch; none if it is an operation.
struct PlanResult {
  std::uint32_t value = kNone;
  PlanRange conditions{};  // all must hold, else there is no value
};

/// The memory of one run. Kept between runs, so that a repeated request finds its buffers.
struct Frame {
  std::vector<Tensor> slot_values;
  std::vector<KernelContext::Input> inputs;
  std::vector<Tensor*> outputs;
  Tensor scratch;
};

struct Plan {
  std::vector<Fetch> fetches;
  std::vector<Output> feed_keys;

  std::vector<PlanValue> values;  // fed values come first
  std::vector<PlanStep> steps;
  std::vector<PlanResult> results;
  std::vector<std::unique_ptr<Tensor>> folded;  // constants that were computed ahead

  // The lists to which the ranges of steps and results refer:
  std::vector<std::uint32_t> inputs;   // values
  std::vector<std::uint32_t> outputs;  // values
  std::vector<PlanCondition> conditions;
  std::vector<VariableState*> locks;
  std::vector<std::uint32_t> releases;  // slots

  std::vector<std::uint32_t> borrowed;  // all slots that may hold somebody else's buffer when a run is over
  std::uint32_t num_slots = 0;
  bool only_reads = false;  // every result is a variable's value

  [[nodiscard]] TRAINHOOK_DECL bool answers(const RunRequest& request) const noexcept;

  /// Returns a frame for one run; give it back afterwards.
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<Frame> take_frame();

  /// Takes a frame back. A plan that runs once, such as an initializer, keeps no buffers.
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
  TRAINHOOK_DECL PlanRun(Plan& plan, KernelThreads& threads, Clock& clock, const RunRequest& request);
  PlanRun(const PlanRun&) = delete;
  PlanRun& operator=(const PlanRun&) = delete;
  TRAINHOOK_DECL ~PlanRun();
  TRAINHOOK_DECL void run(std::span<Tensor> results);

 private:
  TRAINHOOK_DECL void run_steps();
  TRAINHOOK_DECL void run_watched(bool traced);
  TRAINHOOK_DECL void run_step(const PlanStep& step);
  [[nodiscard]] TRAINHOOK_DECL bool hold(PlanRange conditions) const;
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
  KernelThreads& threads_;
  Clock& clock_;
  const RunRequest& request_;
  std::unique_ptr<Frame> frame_;
  std::optional<RunDeadline> deadline_;
};

/// Completes a plan that has its values, steps and results: finds the uses and the last step of each value, assigns
/// slots, and lists the handles that each step releases.
TRAINHOOK_DECL void assign_slots(Plan& plan);

// The kinds of nodes that the planner itself handles.
[[nodiscard]] TRAINHOOK_DECL bool is_variable(const Node& node) noexcept;
[[nodiscard]] TRAINHOOK_DECL bool is_constant(const Node& node) noexcept;
[[nodiscard]] TRAINHOOK_DECL bool is_placeholder(const Node& node) noexcept;

/// True if the node passes its input on under another name.
[[nodiscard]] TRAINHOOK_DECL bool forwards(const Node& node) noexcept;

/// True if the node passes its first input on as one of two outputs, chosen by its second input.
[[nodiscard]] TRAINHOOK_DECL bool is_switch(const Node& node) noexcept;

/// True if the planner itself handles the node's op type, so that it needs no kernel.
[[nodiscard]] TRAINHOOK_DECL bool needs_no_kernel(const Node& node) noexcept;

[[nodiscard]] TRAINHOOK_DECL bool is_fed(std::span<const Output> fed, Output output) noexcept;

/// Returns the variable that `output` names: an output of a VariableV2, or of an op that writes and passes it on. Null
/// for a value.
[[nodiscard]] TRAINHOOK_DECL const Node* variable_named_by(const KernelTable& kernels, std::span<const Output> fed,
                                                           Output output);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/impl/plan.ipp>
#include <trainhook/engine/impl/slots.ipp>
#endif
