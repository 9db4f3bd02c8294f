// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/engine/plan.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook::detail {

/// The use of a slot. Slots are reused only for the same use: handles own no memory, strings and numbers cannot share
/// any, and scalars need none.
enum class SlotUse { Handle, Strings, Scalar, Elements };

/// Slots, reused when the value in them is dead.
class SlotPool {
 public:
  /// The free slot of that use whose last value was nearest in size, else a new one.
  [[nodiscard]] std::uint32_t take(SlotUse use, std::int64_t size) {
    FreeSlots& free = free_[static_cast<std::size_t>(use)];
    if (free.empty()) {
      slots_.push_back({use, size});
      return static_cast<std::uint32_t>(slots_.size() - 1);
    }
    auto best = free.lower_bound(size);
    if (best == free.end() || (best != free.begin() && size - std::prev(best)->first < best->first - size)) --best;
    const std::uint32_t slot = best->second.back();
    best->second.pop_back();
    if (best->second.empty()) free.erase(best);
    slots_[slot].size = size;
    return slot;
  }

  void give(std::uint32_t slot) {
    free_[static_cast<std::size_t>(slots_[slot].use)][slots_[slot].size].push_back(slot);
  }

  /// How many slots a run needs.
  [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(slots_.size()); }

  [[nodiscard]] bool is_for_handles(std::uint32_t slot) const { return slots_[slot].use == SlotUse::Handle; }

 private:
  using FreeSlots = std::map<std::int64_t, std::vector<std::uint32_t>>;  // by the size of their last value

  struct Slot {
    SlotUse use = SlotUse::Elements;
    std::int64_t size = 0;  // of its last value
  };

  std::vector<Slot> slots_;
  std::array<FreeSlots, 4> free_;
};

inline SlotUse slot_use_of(const PlanValue& value) {
  if (value.kind == ValueKind::Borrowed) return SlotUse::Handle;
  if (value.spec->dtype == DType::String) return SlotUse::Strings;
  const PartialShape& shape = value.spec->shape;
  return shape.has_rank() && shape.rank() == 0 ? SlotUse::Scalar : SlotUse::Elements;
}

/// Estimates the size of a value.
inline std::int64_t slot_size_of(const PlanValue& value) {
  constexpr std::int64_t kGuess = 128;  // for a dimension known only in the run, mostly the batch
  std::int64_t size = 8;
  for (const std::int64_t dim : value.spec->shape.dims()) {
    if (__builtin_mul_overflow(size, dim == kUnknownDim ? kGuess : dim, &size))
      size = (std::numeric_limits<std::int64_t>::max)();
  }
  return size;
}

inline void find_uses(Plan& plan) {
  std::uint32_t at = 0;
  const auto use = [&](std::uint32_t value) {
    ++plan.values[value].uses;
    plan.values[value].last_use = at;
  };
  const auto use_predicates = [&](PlanRange conditions) {
    for (const PlanCondition& condition : conditions.of(plan.conditions)) use(condition.predicate);
  };
  for (const PlanStep& step : plan.steps) {
    for (const std::uint32_t value : step.inputs.of(plan.inputs)) use(value);
    for (const std::uint32_t value : step.outputs.of(plan.outputs)) plan.values[value].last_use = at;
    use_predicates(step.conditions);
    ++at;
  }
  for (const PlanResult& result : plan.results) {
    use_predicates(result.conditions);
    if (result.value == kNone) continue;
    use(result.value);
    if (const std::uint32_t root = plan.values[result.value].root; root != kNone) ++plan.values[root].fetches;
  }
  for (const PlanValue& value : plan.values) {
    if (value.root == kNone) continue;
    PlanValue& root = plan.values[value.root];
    if (&root == &value) continue;
    ++root.uses;
    root.last_use = (std::max)(root.last_use, value.last_use);
  }
  for (PlanStep& step : plan.steps) {
    if (step.result_of_write != kNone && plan.values[step.result_of_write].uses == 0) step.result_of_write = kNone;
  }
}

void assign_slots(Plan& plan) {
  find_uses(plan);
  std::vector<std::uint32_t> dying(plan.values.size());
  std::iota(dying.begin(), dying.end(), 0U);
  std::ranges::stable_sort(dying, {}, [&](std::uint32_t value) { return plan.values[value].last_use; });
  auto next = dying.begin();

  SlotPool pool;
  const auto take = [&](PlanValue& value) { value.slot = pool.take(slot_use_of(value), slot_size_of(value)); };
  for (std::size_t i = 0; i < plan.feed_keys.size(); ++i) take(plan.values[i]);
  for (std::uint32_t at = 0; at < plan.steps.size(); ++at) {
    PlanStep& step = plan.steps[at];
    for (const std::uint32_t value : step.outputs.of(plan.outputs)) take(plan.values[value]);
    if (step.result_of_write != kNone) take(plan.values[step.result_of_write]);
    step.releases.begin = static_cast<std::uint32_t>(plan.releases.size());
    for (; next != dying.end() && plan.values[*next].last_use == at; ++next) {
      const PlanValue& value = plan.values[*next];
      if (value.slot == kNone) continue;
      if (value.kind == ValueKind::Borrowed) plan.releases.push_back(value.slot);
      pool.give(value.slot);
    }
    step.releases.end = static_cast<std::uint32_t>(plan.releases.size());
  }
  plan.num_slots = pool.count();
  for (std::uint32_t slot = 0; slot < plan.num_slots; ++slot) {
    if (pool.is_for_handles(slot)) plan.borrowed.push_back(slot);
  }
}

}  // namespace trainhook::detail
