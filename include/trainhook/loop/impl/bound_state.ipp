// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/loop/bound_state.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/user_call.hpp>

namespace trainhook::detail {

Shape resolve_shape(std::string_view name, const PartialShape& wanted, const Shape& natural) {
  if (!wanted.has_rank()) return natural;
  const std::int64_t count = natural.num_elements();
  std::array<std::int64_t, kMaxRank> room{};
  const std::span<std::int64_t> dims = std::span(room).first(wanted.rank());
  std::ranges::copy(wanted.dims(), dims.begin());
  std::int64_t known = 1;
  bool fits = std::ranges::count(dims, kUnknownDim) <= 1;
  for (const std::int64_t dim : dims)
    fits = fits && !__builtin_mul_overflow(known, dim == kUnknownDim ? 1 : dim, &known);
  if (const auto unknown = std::ranges::find(dims, kUnknownDim); fits && unknown != dims.end() && known > 0) {
    *unknown = count / known;
    known *= *unknown;
  }
  fits = fits && known == count && std::ranges::find(dims, kUnknownDim) == dims.end();
  if (!fits)
    throw InvalidArgumentError("variable '{}': shape {} does not fit the {} elements of its memory", name, wanted,
                               count);
  return Shape(dims);
}

void check_value(const std::string& name, DType dtype, const PartialShape& shape, const Tensor& value) {
  if (value.dtype() != dtype || !shape.compatible_with(value.shape())) {
    throw InvalidArgumentError("'{}' is {}{} and cannot take {}{}", name, dtype, shape, value.dtype(), value.shape());
  }
  if (dtype == DType::Bool && std::ranges::any_of(value.bytes(), [](std::byte item) { return item > std::byte{1}; })) {
    throw DataLossError("'{}': a truth value is neither 0 nor 1", name);
  }
}

VariableBinding::VariableBinding(const Variable& variable, std::function<MemoryView()> memory, Layout layout,
                                 MemoryResizer resize)
    : variable_(variable),
      dtype_(variable.dtype()),
      shape_(variable.shape()),
      memory_(std::move(memory)),
      layout_(layout),
      resize_(std::move(resize)) {}

VariableBinding::VariableBinding(const Variable& variable, ExternalVariable external)
    : variable_(variable), dtype_(variable.dtype()), shape_(variable.shape()), external_(std::move(external)) {}

Tensor VariableBinding::read() {
  read_into(staging_);
  return staging_;
}

Tensor VariableBinding::read_once() const {
  Tensor values;
  read_into(values);
  return values;
}

StateMemory VariableBinding::memory() const {
  if (!memory_ || layout_ != Layout::RowMajor) return {};
  const MemoryView now = memory_();
  return {.dtype = dtype(), .shape = now.shape, .bytes = now.bytes};
}

std::function<Tensor()> VariableBinding::deferred() const {
  if (!external_.snapshot) return {};
  const char* const kWhat = "the snapshot function of variable";
  std::function<Tensor()> bring = call_of_user(kWhat, name(), external_.snapshot);
  if (!bring) return {};
  return [bring = std::move(bring), kWhat, name = name(), dtype = dtype(), shape = shape_] {
    Tensor value = call_of_user(kWhat, name, bring);
    check_value(name, dtype, shape, value);
    return value;
  };
}

void VariableBinding::read_into(Tensor& target) const {
  if (memory_) {
    const MemoryView now = memory_();
    target.reset_to(dtype(), now.shape);
    to_row_major(now.bytes, layout_, now.shape, target.overwrite_bytes());
  } else {
    target.reset_to(dtype(), shape_.known());
    call_of_user("the read function of variable", name(), [&] { external_.read(target.overwrite_bytes()); });
  }
}

void VariableBinding::validate(const Tensor& value) const {
  check_value(name(), dtype(), shape_, value);
  if (memory_) (void)memory_();
}

std::function<void()> VariableBinding::resized_for(const Tensor& value) const {
  if (!resize_ || memory_().shape == value.shape()) return {};
  return resize_(value.num_elements());
}

void VariableBinding::expect_size_of(const Tensor& value) const {
  if (!memory_) return;
  if (const Shape now = memory_().shape; now != value.shape()) {
    throw FailedPreconditionError(
        "variable '{}' got the shape {} while a value of shape {} was loaded: leave its size to the restore", name(),
        now, value.shape());
  }
}

void VariableBinding::write(const Tensor& value) {
  expect_size_of(value);
  if (memory_) {
    from_row_major(value.bytes(), layout_, value.shape(), memory_().bytes);
  } else {
    call_of_user("the write function of variable", name(), [&] { external_.write(value.bytes()); });
  }
  initialized = true;
}

void VariableBinding::fill(FillMemory fill) {
  fill(name(), memory_().bytes);
  initialized = true;
}

VariableBinding& BoundState::add(VariableBinding binding) {
  VariableBinding& added = variables_.emplace_back(std::move(binding));
  added.place = places_++;
  by_name_[added.name()].variable = &added;
  return added;
}

void BoundState::add(StateBinding binding) {
  if (find_state(binding.name) != nullptr)
    throw InvalidArgumentError("the loop already has a state '{}'; give each its own name", binding.name);
  StateBinding& added = states_.emplace_back(std::move(binding));
  added.place = places_++;
  by_name_[added.name].state = &added;
}

const std::string* BoundState::uninitialized() const noexcept {
  const auto found = std::ranges::find(variables_, false, &VariableBinding::initialized);
  return found == variables_.end() ? nullptr : &found->name();
}

void BoundState::set_initialized() noexcept {
  for (VariableBinding& variable : variables_) variable.initialized = true;
}

void BoundState::begin_again() {
  for (const StateBinding& state : states_) {
    if (state.reset) state.reset();
  }
  for (VariableBinding& variable : variables_) variable.initialized = false;
}

std::vector<StateSpec> BoundState::specs() const {
  std::vector<StateSpec> specs;
  specs.reserve(variables_.size() + states_.size());
  for (const VariableBinding& variable : variables_) {
    specs.push_back({.name = variable.name(),
                     .dtype = variable.dtype(),
                     .shape = variable.shape(),
                     .initialized = variable.initialized});
  }
  for (const StateBinding& state : states_) {
    specs.push_back({.name = state.name,
                     .kind = state.kind,
                     .dtype = state.dtype,
                     .shape = state.shape,
                     .is_generator = state.is_generator});
  }
  return specs;
}

Tensor BoundState::save(std::string_view name) {
  if (VariableBinding* variable = find_variable(name)) return variable->read();
  return state_called(name).save();
}

Tensor BoundState::save_once(std::string_view name) {
  if (const VariableBinding* variable = find_variable(name)) return variable->read_once();
  return state_called(name).save();
}

StateMemory BoundState::memory(std::string_view name) {
  const VariableBinding* const variable = find_variable(name);
  return variable != nullptr ? variable->memory() : StateMemory();
}

std::function<Tensor()> BoundState::deferred(std::string_view name) {
  if (const VariableBinding* variable = find_variable(name)) return variable->deferred();
  const StateBinding& state = state_called(name);
  return state.snapshot ? state.snapshot() : nullptr;
}

void BoundState::load(std::span<const NamedTensor> entries, FillMemory fill) {
  std::vector<Change> changes(entries.size());
  Order order;
  order.reserve(entries.size());
  ++loads_;
  const auto expect_first = [&](std::uint64_t& last_load, const std::string& name) {
    if (std::exchange(last_load, loads_) == loads_) throw InvalidArgumentError("'{}' is given twice", name);
  };
  for (const NamedTensor& entry : entries) {
    if (VariableBinding* variable = find_variable(entry.name)) {
      expect_first(variable->last_load, entry.name);
      const bool is_filled = fill && !entry.tensor.has_value() && !variable->memory().bytes.empty();
      if (!is_filled) variable->validate(entry.tensor);
      Change& change = changes[order.size()];
      order.emplace_back(variable->place, order.size());
      change.value = &entry.tensor;
      change.variable = variable;
      if (!is_filled) change.resize = variable->resized_for(entry.tensor);
    } else {
      StateBinding& state = state_called(entry.name);
      expect_first(state.last_load, entry.name);
      check_value(state.name, state.dtype, state.shape, entry.tensor);
      Change& change = changes[order.size()];
      order.emplace_back(state.place, order.size());
      change.state = &state;
      change.commit = state.prepare(entry.tensor);
    }
  }
  std::ranges::sort(order);
  std::size_t to_keep = order.size();
  while (to_keep > 0 && !changes[order[to_keep - 1].second].may_fail()) --to_keep;
  for (std::size_t i = 0; i < to_keep; ++i) changes[order[i].second].keep_old_value();
  apply(changes, order, fill);
}

VariableBinding* BoundState::find_variable(std::string_view name) noexcept {
  if (next_ == variables_.size()) next_ = 0;
  if (next_ < variables_.size() && variables_[next_].name() == name) return &variables_[next_++];
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second.variable;
}

StateBinding* BoundState::find_state(std::string_view name) const noexcept {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second.state;
}

StateBinding& BoundState::state_called(std::string_view name) const {
  if (StateBinding* state = find_state(name)) return *state;
  throw NotFoundError("the loop has no variable or state '{}'", name);
}

bool BoundState::Change::may_fail() const noexcept {
  return variable != nullptr ? variable->is_external() : state->may_fail;
}

void BoundState::Change::keep_old_value() {
  if (resize) return;
  if (variable != nullptr) {
    undo = [variable = variable, old = variable->read_once()] { variable->write(old); };
  } else {
    undo = state->prepare(state->save());
  }
}

void BoundState::apply(const std::vector<Change>& changes, const Order& order, FillMemory fill) {
  std::size_t next = 0;
  try {
    for (; next < order.size(); ++next) {
      const Change& change = changes[order[next].second];
      if (change.resize) change.resize();
      if (change.variable != nullptr && change.value->has_value()) {
        change.variable->write(*change.value);
      } else if (change.variable != nullptr) {
        change.variable->fill(fill);
      } else {
        change.commit();
      }
    }
    for (const Change& change : changes) {  // a function may have changed the memory of what came before it
      if (change.variable != nullptr && change.value->has_value()) change.variable->expect_size_of(*change.value);
    }
  } catch (...) {
    const std::size_t changed = (std::min)(next + 1, order.size());  // the one that failed may be half done
    for (std::size_t i = changed; i > 0; --i) take_back(changes[order[i - 1].second]);
    throw;
  }
}

void BoundState::take_back(const Change& change) noexcept {
  try {
    if (change.resize) change.resize();
    if (change.undo) change.undo();
  } catch (...) {
    log_error("what a failed restore had changed could not be taken back: {}", describe(std::current_exception()));
  }
}

}  // namespace trainhook::detail
