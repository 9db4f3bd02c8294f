// SPDX-License-Identifier: Apache-2.0
/// @file
/// PlanDraft: a plan whose values have no slots yet; DraftWriter: gives them slots and writes the plan down.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/engine/kernel.hpp>
#include <trainhook/engine/plan.hpp>
#include <trainhook/engine/slots.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook::detail {

inline constexpr std::uint32_t kNoValue = 0xffffffff;

enum class DraftKind {
  Nothing,  // never asked for
  Constant,
  Named,     // a variable or a resource itself
  Owned,     // written by a kernel into its slot
  Borrowed,  // a handle of a buffer that belongs elsewhere
};

struct DraftValue {
  DraftKind kind = DraftKind::Nothing;
  const Tensor* constant = nullptr;
  NodeState* state = nullptr;
  bool is_variable = false;
  OutputSpec spec{};
  std::uint32_t root = kNoValue;  // whose buffer a borrowed one shares
  std::uint32_t defined = kNoValue;
  std::uint32_t last_use = kNoValue;
  std::uint32_t uses = 0;
  std::uint32_t slot = kNoSlot;
};

/// Predicates, and what they must be.
using DraftConditions = std::vector<std::pair<std::uint32_t, bool>>;

/// What goes with the step of the same index in the plan; numbers are indices of values.
struct DraftStep {
  std::vector<std::uint32_t> inputs{};
  std::vector<std::uint32_t> outputs{};
  std::vector<VariableState*> locks{};
  DraftConditions conditions{};
  std::uint32_t result_of_write = kNoValue;
};

struct PlanDraft {
  std::vector<DraftValue> values;
  std::vector<DraftStep> steps;
  std::vector<std::uint32_t> feeds;
  std::vector<std::uint32_t> results;
  std::vector<DraftConditions> result_conditions;  // for each result
};

/// Fills in the rest of a plan whose steps are there.
class DraftWriter {
 public:
  DraftWriter(PlanDraft& draft, Plan& plan) : draft_(draft), plan_(plan) {}

  void write() {
    find_last_uses();
    assign_slots();
    finish();
  }

 private:
  TRAINHOOK_DECL void find_last_uses();
  TRAINHOOK_DECL void assign_slots();
  TRAINHOOK_DECL void write_step(std::uint32_t at);

  template <class T>
  static void add_sorted(std::vector<T>& to, std::vector<T>& from) {
    std::sort(from.begin(), from.end(), std::less<>());
    to.insert(to.end(), from.begin(), std::unique(from.begin(), from.end()));
  }

  /// Frees the slots of what was used for the last time, and of what sits in the buffers behind it.
  TRAINHOOK_DECL void release_after(std::uint32_t at);

  [[nodiscard]] TRAINHOOK_DECL PlanRange add_conditions(const DraftConditions& conditions);
  [[nodiscard]] TRAINHOOK_DECL static SlotNeed need_of(const DraftValue& value);
  [[nodiscard]] TRAINHOOK_DECL static ValueSource source_of(const DraftValue& value);
  TRAINHOOK_DECL void finish();

  /// A request for nothing but variables needs no steps at all.
  TRAINHOOK_DECL void find_plain_reads();

  PlanDraft& draft_;
  Plan& plan_;
  SlotPool slots_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/impl/plan_draft.ipp>
#endif
