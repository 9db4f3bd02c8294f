// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of plan_draft.hpp.
#pragma once

#include <trainhook/engine/plan_draft.hpp>

#include <cstddef>
#include <utility>

namespace trainhook::detail {

inline constexpr std::uint32_t kForEver = 0xfffffffe;

TRAINHOOK_DECL void DraftWriter::find_last_uses() {
  const auto use = [&](std::uint32_t value, std::uint32_t at) {
    DraftValue& used = draft_.values[value];
    used.last_use = used.last_use == kNoValue ? at : (std::max)(used.last_use, at);
    ++used.uses;
  };
  const auto use_predicates = [&](const DraftConditions& conditions, std::uint32_t at) {
    for (const auto& [predicate, is_true] : conditions) {
      use(predicate, at);
      ++draft_.values[predicate].uses;  // never movable
    }
  };
  for (std::uint32_t at = 0; at < draft_.steps.size(); ++at) {
    for (std::uint32_t value : draft_.steps[at].inputs) use(value, at);
    use_predicates(draft_.steps[at].conditions, at);
  }
  for (std::uint32_t value : draft_.results) {
    if (value != kNoValue) use(value, kForEver);
  }
  for (const DraftConditions& conditions : draft_.result_conditions) use_predicates(conditions, kForEver);
  for (std::size_t i = draft_.values.size(); i-- > 0;) {
    DraftValue& value = draft_.values[i];
    if (value.last_use == kNoValue) value.last_use = value.defined;
    if (value.root == kNoValue || value.root == i) continue;
    DraftValue& root = draft_.values[value.root];
    root.last_use = root.last_use == kNoValue ? value.last_use : (std::max)(root.last_use, value.last_use);
    root.uses += 2;  // never movable
  }
}

TRAINHOOK_DECL void DraftWriter::assign_slots() {
  for (std::uint32_t value : draft_.feeds) draft_.values[value].slot = slots_.take(need_of(draft_.values[value]));
  for (std::uint32_t at = 0; at < draft_.steps.size(); ++at) {
    DraftStep& draft = draft_.steps[at];
    for (std::uint32_t value : draft.outputs) draft_.values[value].slot = slots_.take(need_of(draft_.values[value]));
    if (draft.result_of_write != kNoValue)
      draft_.values[draft.result_of_write].slot = slots_.take(need_of(draft_.values[draft.result_of_write]));
    write_step(at);
  }
}

TRAINHOOK_DECL void DraftWriter::write_step(std::uint32_t at) {
  DraftStep& draft = draft_.steps[at];
  PlanStep& step = plan_.steps[at];
  const auto count = [](const auto& items) { return static_cast<std::uint32_t>(items.size()); };
  step.inputs.begin = count(plan_.inputs);
  for (std::uint32_t value : draft.inputs) {
    ValueSource source = source_of(draft_.values[value]);
    source.movable = draft_.values[value].kind == DraftKind::Owned && draft_.values[value].uses == 1 &&
                     draft_.values[value].last_use == at;
    plan_.inputs.push_back(source);
  }
  step.inputs.end = count(plan_.inputs);
  step.outputs.begin = count(plan_.outputs);
  for (std::uint32_t value : draft.outputs) plan_.outputs.push_back(draft_.values[value].slot);
  step.outputs.end = count(plan_.outputs);
  if (draft.result_of_write != kNoValue) step.result_of_write = draft_.values[draft.result_of_write].slot;

  step.conditions = add_conditions(draft.conditions);
  step.locks.begin = count(plan_.locks);
  add_sorted(plan_.locks, draft.locks);
  step.locks.end = count(plan_.locks);
  step.releases.begin = count(plan_.releases);
  release_after(at);
  step.releases.end = count(plan_.releases);
}

TRAINHOOK_DECL void DraftWriter::release_after(std::uint32_t at) {
  const DraftStep& draft = draft_.steps[at];
  std::vector<std::uint32_t> all = draft.inputs;
  all.insert(all.end(), draft.outputs.begin(), draft.outputs.end());
  for (const auto& [predicate, is_true] : draft.conditions) all.push_back(predicate);
  if (draft.result_of_write != kNoValue) all.push_back(draft.result_of_write);
  for (std::size_t i = 0, own = all.size(); i < own; ++i) {
    if (draft_.values[all[i]].root != kNoValue) all.push_back(draft_.values[all[i]].root);
  }
  std::vector<std::uint32_t> touched;
  add_sorted(touched, all);
  for (const std::uint32_t index : touched) {
    const DraftValue& value = draft_.values[index];
    if (value.last_use != at || value.slot == kNoSlot) continue;
    if (value.kind == DraftKind::Borrowed) plan_.releases.push_back(value.slot);
    slots_.give(value.slot, need_of(value));
  }
}

TRAINHOOK_DECL PlanRange DraftWriter::add_conditions(const DraftConditions& conditions) {
  const auto begin = static_cast<std::uint32_t>(plan_.conditions.size());
  for (const auto& [predicate, is_true] : conditions)
    plan_.conditions.push_back({source_of(draft_.values[predicate]), is_true});
  return {begin, static_cast<std::uint32_t>(plan_.conditions.size())};
}

TRAINHOOK_DECL SlotNeed DraftWriter::need_of(const DraftValue& value) {
  return SlotNeed::of(value.spec, value.kind == DraftKind::Borrowed);
}

TRAINHOOK_DECL ValueSource DraftWriter::source_of(const DraftValue& value) {
  ValueSource source;
  switch (value.kind) {
    case DraftKind::Constant: source.constant = value.constant; break;
    case DraftKind::Named:
      source.state = value.state;
      if (value.is_variable) source.variable = static_cast<VariableState*>(value.state);
      break;
    default: source.slot = value.slot;
  }
  return source;
}

TRAINHOOK_DECL void DraftWriter::finish() {
  std::vector<std::uint32_t> times(draft_.values.size(), 0);    // that a value is a result
  std::vector<std::uint32_t> sharers(draft_.values.size(), 0);  // results in the buffer of a value
  for (const std::uint32_t index : draft_.results) {
    if (index == kNoValue) continue;
    ++times[index];
    ++sharers[index];
    const std::uint32_t root = draft_.values[index].root;
    if (root != kNoValue && root != index) ++sharers[root];
  }
  for (std::size_t at = 0; at < draft_.results.size(); ++at) {
    const std::uint32_t index = draft_.results[at];
    PlanResult result{.conditions = add_conditions(draft_.result_conditions[at])};
    if (index != kNoValue) {
      const DraftValue& value = draft_.values[index];
      result.source = source_of(value);
      result.give_away = times[index] == 1;
      if (value.root != kNoValue && draft_.values[value.root].kind == DraftKind::Owned && sharers[value.root] == 1)
        result.owner = draft_.values[value.root].slot;
    }
    plan_.results.push_back(result);
  }
  for (std::size_t i = 0; i < draft_.feeds.size(); ++i)
    plan_.feeds.push_back({plan_.feed_keys[i], draft_.values[draft_.feeds[i]].slot});
  std::vector<std::uint32_t> borrowed;
  for (const DraftValue& value : draft_.values) {
    if (value.kind == DraftKind::Borrowed && value.slot != kNoSlot) borrowed.push_back(value.slot);
  }
  add_sorted(plan_.borrowed, borrowed);
  plan_.num_slots = slots_.count();
  find_plain_reads();
}

TRAINHOOK_DECL void DraftWriter::find_plain_reads() {
  if (!plan_.feed_keys.empty() || plan_.fetches.empty()) return;
  if (std::ranges::any_of(plan_.steps, [](const PlanStep& step) { return step.read_from == nullptr; })) return;
  std::vector<VariableState*> read_into(draft_.values.size(), nullptr);  // by value
  for (std::size_t at = 0; at < draft_.steps.size(); ++at)
    read_into[draft_.steps[at].outputs.front()] = plan_.steps[at].read_from;
  std::vector<PlanResult> results = plan_.results;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].source.variable != nullptr) continue;
    VariableState* const variable = draft_.results[i] == kNoValue ? nullptr : read_into[draft_.results[i]];
    if (variable == nullptr) return;
    results[i] = {};
    results[i].source.variable = variable;
  }
  plan_.results = std::move(results);
  plan_.only_reads = true;
}

}  // namespace trainhook::detail
