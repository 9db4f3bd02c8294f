// SPDX-License-Identifier: Apache-2.0
/// @file
/// VariableBinding: connects a variable of a LoopSession to its memory. BoundState: everything that a LoopSession
/// saves, by name. It loads all entries or none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/loop/state_binding.hpp>
#include <trainhook/loop/variable_memory.hpp>

namespace trainhook::detail {

/// The shape of a variable: `wanted` if it has a rank, or else `natural`. @throws InvalidArgumentError if `wanted` does
/// not fit the number of elements.
TRAINHOOK_DECL Shape resolve_shape(std::string_view name, const PartialShape& wanted, const Shape& natural);

/// @throws InvalidArgumentError or DataLossError if `value` cannot be the value of variable `name`.
TRAINHOOK_DECL void check_value(const std::string& name, DType dtype, const PartialShape& shape, const Tensor& value);

/// A variable of a LoopSession. `read` uses one staging tensor, whose buffer is reused as soon as nothing else refers
/// to it.
class VariableBinding {
 public:
  /// @param memory returns the memory with the variable's shape in it, or throws if that is not the registered one
  /// @param resize of a variable whose number of rows may change; otherwise empty
  TRAINHOOK_DECL VariableBinding(const Variable& variable, std::function<MemoryView()> memory, Layout layout,
                                 MemoryResizer resize);
  TRAINHOOK_DECL VariableBinding(const Variable& variable, ExternalVariable external);

  [[nodiscard]] const std::string& name() const { return variable_.name(); }
  [[nodiscard]] const Variable& variable() const noexcept { return variable_; }
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] const PartialShape& shape() const noexcept { return shape_; }

  /// True if writing calls the user's code, which may throw.
  [[nodiscard]] bool is_external() const noexcept { return !memory_; }

  /// The current values.
  [[nodiscard]] TRAINHOOK_DECL Tensor read();

  /// The current values in memory that only the caller holds.
  [[nodiscard]] TRAINHOOK_DECL Tensor read_once() const;

  /// The values where they are, if that is row-major memory.
  [[nodiscard]] TRAINHOOK_DECL StateMemory memory() const;

  /// Copies the values where they are, and returns a function that brings the copy; an empty one if there is no
  /// `snapshot`, or no room.
  [[nodiscard]] TRAINHOOK_DECL std::function<Tensor()> deferred() const;

  /// @throws if `write(value)` would fail.
  TRAINHOOK_DECL void validate(const Tensor& value) const;

  /// Makes memory of the size of `value`, which `validate` accepts, if it has another one. The result exchanges it, and
  /// in a second call takes that back; empty if the size is right.
  [[nodiscard]] TRAINHOOK_DECL std::function<void()> resized_for(const Tensor& value) const;

  /// @throws FailedPreconditionError if the memory has not the size of `value`.
  TRAINHOOK_DECL void expect_size_of(const Tensor& value) const;

  /// Sets the values; the variable is initialized afterwards.
  TRAINHOOK_DECL void write(const Tensor& value);
  TRAINHOOK_DECL void fill(FillMemory fill);

  bool initialized = true;
  std::uint64_t last_load = 0;  ///< the number of the load that set its value
  std::int64_t place = 0;       ///< among all that the loop registered

 private:
  TRAINHOOK_DECL void read_into(Tensor& target) const;

  Variable variable_;
  DType dtype_;
  PartialShape shape_;
  std::function<MemoryView()> memory_;
  Layout layout_ = Layout::RowMajor;
  MemoryResizer resize_;
  ExternalVariable external_;
  Tensor staging_;
};

/// The variables and other state of a loop, at stable addresses.
class BoundState {
 public:
  TRAINHOOK_DECL VariableBinding& add(VariableBinding binding);
  TRAINHOOK_DECL void add(StateBinding binding);

  /// The name of a variable that is not initialized, or null.
  [[nodiscard]] TRAINHOOK_DECL const std::string* uninitialized() const noexcept;
  TRAINHOOK_DECL void set_initialized() noexcept;

  /// Starts a new session: variables are uninitialized again.
  TRAINHOOK_DECL void begin_again();

  [[nodiscard]] TRAINHOOK_DECL std::vector<StateSpec> specs() const;

  /// The current value. @throws NotFoundError for an unknown name.
  [[nodiscard]] TRAINHOOK_DECL Tensor save(std::string_view name);

  /// The current value in memory that only the caller holds. @throws NotFoundError for an unknown name.
  [[nodiscard]] TRAINHOOK_DECL Tensor save_once(std::string_view name);

  /// The elements of a variable, if they are row-major in the memory that it was registered with.
  [[nodiscard]] TRAINHOOK_DECL StateMemory memory(std::string_view name);

  /// Copies the value where it is, and returns a function that brings the copy; an empty one if it is not copied so.
  /// @throws NotFoundError for an unknown name.
  [[nodiscard]] TRAINHOOK_DECL std::function<Tensor()> deferred(std::string_view name);

  /// Checks and decodes all entries, then loads them in the order of their registration. If the user's code fails while
  /// loading, undoes the entries loaded before, but not what `fill` wrote: it gives their value to entries without one.
  TRAINHOOK_DECL void load(std::span<const NamedTensor> entries, FillMemory fill = {});

 private:
  /// A new value of a variable or of other state.
  struct Change {
    const Tensor* value = nullptr;
    VariableBinding* variable = nullptr;
    StateBinding* state = nullptr;
    std::function<void()> resize{};  // of a variable; a second call takes it back
    std::function<void()> commit{};  // of a state
    std::function<void()> undo{};    // only up to the last change that may fail

    [[nodiscard]] TRAINHOOK_DECL bool may_fail() const noexcept;
    TRAINHOOK_DECL void keep_old_value();
  };

  /// A variable or other state. Names are unique among both.
  struct Named {
    VariableBinding* variable = nullptr;
    StateBinding* state = nullptr;
  };

  [[nodiscard]] TRAINHOOK_DECL VariableBinding* find_variable(std::string_view name) noexcept;
  [[nodiscard]] TRAINHOOK_DECL StateBinding* find_state(std::string_view name) const noexcept;
  [[nodiscard]] TRAINHOOK_DECL StateBinding& state_called(std::string_view name) const;

  /// The order of registration: the place of a variable or state, and the number of its change.
  using Order = std::vector<std::pair<std::int64_t, std::size_t>>;

  TRAINHOOK_DECL static void apply(const std::vector<Change>& changes, const Order& order, FillMemory fill);
  TRAINHOOK_DECL static void take_back(const Change& change) noexcept;

  std::deque<VariableBinding> variables_;
  std::deque<StateBinding> states_;
  std::unordered_map<std::string_view, Named> by_name_;
  std::uint64_t loads_ = 0;
  std::int64_t places_ = 0;
  std::size_t next_ = 0;  // the variable to try first, because names mostly come in order
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/loop/impl/bound_state.ipp>
#endif
