// SPDX-License-Identifier: Apache-2.0
/// @file
/// Everything that a LoopSession saves: its variables and other state by name, taken as they are and loaded all or not at all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/log.hpp>
#include <trainhook/loop/state_binding.hpp>
#include <trainhook/loop/variable_binding.hpp>

namespace trainhook::detail {

/// The bindings of a loop. Their addresses are stable.
class BoundState {
 public:
  VariableBinding& add(VariableBinding binding) { return variables_.emplace_back(std::move(binding)); }
  void add(StateBinding binding) {
    if (find_state(binding.name) != nullptr)
      throw InvalidArgumentError("the loop already has a state '", binding.name, "'; give each its own name");
    states_.push_back(std::move(binding));
  }

  /// The name of a variable whose value nobody knows, or null.
  [[nodiscard]] const std::string* uninitialized() const noexcept {
    const auto found = std::ranges::find(variables_, false, &VariableBinding::initialized);
    return found == variables_.end() ? nullptr : &found->name();
  }
  void set_initialized() noexcept {
    for (VariableBinding& variable : variables_) variable.initialized = true;
  }

  /// A new session begins: what the last one left behind is not to be relied upon.
  void begin_anew() {
    for (const StateBinding& state : states_) {
      if (state.reset) state.reset();
    }
    for (VariableBinding& variable : variables_) variable.initialized = false;
  }

  [[nodiscard]] std::vector<StateSpec> specs() const {
    std::vector<StateSpec> specs;
    for (const VariableBinding& variable : variables_) {
      specs.push_back({.name = variable.name(), .dtype = variable.dtype(), .shape = variable.shape(), .initialized = variable.initialized});
    }
    for (const StateBinding& state : states_)
      specs.push_back({.name = state.name, .kind = state.kind, .dtype = state.dtype, .shape = state.shape});
    return specs;
  }

  /// The present value. @throws NotFoundError where nothing has that name.
  [[nodiscard]] Tensor save(std::string_view name) {
    if (VariableBinding* variable = find_variable(name)) return variable->read();
    return state_called(name).save();
  }

  /// Checks and decodes all entries, then takes them over. Where user's code refuses its share after all, what it did before is taken back.
  void load(std::span<const NamedTensor> entries) {
    std::vector<Change> changes;
    std::set<std::string_view> seen;
    for (const NamedTensor& entry : entries) {
      if (!seen.insert(entry.name).second) throw InvalidArgumentError("'", entry.name, "' is given twice");
      VariableBinding* variable = find_variable(entry.name);
      changes.push_back(variable != nullptr ? change_of(*variable, entry.tensor) : change_of(state_called(entry.name), entry.tensor));
    }
    const auto may_fail = [](const Change& change) { return static_cast<bool>(change.undo); };
    std::stable_partition(changes.begin(), changes.end(), may_fail);  // so that what cannot fail comes last
    apply(changes);
  }

 private:
  struct Change {
    std::function<void()> commit;
    std::function<void()> undo;  // only where `commit` may fail
  };

  [[nodiscard]] VariableBinding* find_variable(std::string_view name) noexcept {
    const auto found = std::ranges::find(variables_, name, &VariableBinding::name);
    return found == variables_.end() ? nullptr : &*found;
  }
  [[nodiscard]] StateBinding* find_state(std::string_view name) noexcept {
    const auto found = std::ranges::find(states_, name, &StateBinding::name);
    return found == states_.end() ? nullptr : &*found;
  }
  [[nodiscard]] StateBinding& state_called(std::string_view name) {
    if (StateBinding* state = find_state(name)) return *state;
    throw NotFoundError("the loop has no variable or state '", name, "'");
  }

  static Change change_of(VariableBinding& variable, const Tensor& value) {
    variable.check(value);
    const auto writing = [&variable](const Tensor& what) {
      return [&variable, what] {
        variable.write(what);
        variable.initialized = true;
      };
    };
    return {.commit = writing(value),
            .undo = variable.is_external() ? std::function<void()>(writing(variable.read())) : std::function<void()>()};
  }

  static Change change_of(StateBinding& state, const Tensor& value) {
    check_value(state.name, state.dtype, state.shape, value);
    return {.commit = state.prepare(value), .undo = state.may_fail ? state.prepare(state.save()) : std::function<void()>()};
  }

  static void apply(const std::vector<Change>& changes) {
    std::size_t next = 0;
    try {
      for (; next < changes.size(); ++next) changes[next].commit();
    } catch (...) {
      for (std::size_t i = next + 1; i > 0; --i) take_back(changes[i - 1]);  // also the one that failed half-way
      throw;
    }
  }

  static void take_back(const Change& change) noexcept {
    try {
      if (change.undo) change.undo();
    } catch (...) {
      log_error("what a failed restore had changed could not be taken back: ", describe(std::current_exception()));
    }
  }

  std::deque<VariableBinding> variables_;
  std::deque<StateBinding> states_;
};

}  // namespace trainhook::detail
