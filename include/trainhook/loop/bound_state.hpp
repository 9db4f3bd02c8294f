// SPDX-License-Identifier: Apache-2.0
/// @file
/// BoundState: everything that a LoopSession saves, by name; loading loads all entries or none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/loop/state_binding.hpp>
#include <trainhook/loop/variable_binding.hpp>

namespace trainhook::detail {

/// The variables and other state of a loop. Their addresses are stable.
class BoundState {
 public:
  TRAINHOOK_DECL VariableBinding& add(VariableBinding binding);
  TRAINHOOK_DECL void add(StateBinding binding);

  /// The name of a variable without a known value, or null.
  [[nodiscard]] TRAINHOOK_DECL const std::string* uninitialized() const noexcept;
  TRAINHOOK_DECL void set_initialized() noexcept;

  /// Begins a new session: variables have no known value.
  TRAINHOOK_DECL void begin_again();

  [[nodiscard]] TRAINHOOK_DECL std::vector<StateSpec> specs() const;

  /// The present value. @throws NotFoundError if nothing has that name.
  [[nodiscard]] TRAINHOOK_DECL Tensor save(std::string_view name);

  /// The present value in memory of the caller's own: nothing is kept here. @throws NotFoundError if nothing has that
  /// name.
  [[nodiscard]] TRAINHOOK_DECL Tensor save_once(std::string_view name);

  /// Checks and decodes all entries, then loads them. If the user's code fails while loading, what was loaded is
  /// undone.
  TRAINHOOK_DECL void load(std::span<const NamedTensor> entries);

 private:
  struct Change {
    std::function<void()> commit{};
    std::function<void()> undo{};  // only if `commit` may fail
  };

  /// What has a name; no variable is called as a state.
  struct Named {
    VariableBinding* variable = nullptr;
    StateBinding* state = nullptr;
  };

  [[nodiscard]] TRAINHOOK_DECL VariableBinding* find_variable(std::string_view name) noexcept;
  [[nodiscard]] TRAINHOOK_DECL StateBinding* find_state(std::string_view name) const noexcept;
  [[nodiscard]] TRAINHOOK_DECL StateBinding& state_called(std::string_view name) const;

  /// Of a variable whose memory only the user's code knows.
  TRAINHOOK_DECL static Change change_of(VariableBinding& variable, const Tensor& value);
  TRAINHOOK_DECL static Change change_of(StateBinding& state, const Tensor& value);
  TRAINHOOK_DECL static void apply(const std::vector<Change>& changes);
  TRAINHOOK_DECL static void take_back(const Change& change) noexcept;

  std::deque<VariableBinding> variables_;
  std::deque<StateBinding> states_;
  std::unordered_map<std::string_view, Named> by_name_;
  std::uint64_t loads_ = 0;
  std::size_t next_ = 0;  // the variable whose name is tried first, because names mostly come in order
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/loop/impl/bound_state.ipp>
#endif
