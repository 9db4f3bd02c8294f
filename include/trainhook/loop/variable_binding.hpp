// SPDX-License-Identifier: Apache-2.0
/// @file
/// VariableBinding: connects a variable of a LoopSession to its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/variable.hpp>
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
  /// @param memory returns the memory, or throws if its size has changed since registration
  TRAINHOOK_DECL VariableBinding(const Variable& variable, std::function<std::span<std::byte>()> memory, Layout layout);
  TRAINHOOK_DECL VariableBinding(const Variable& variable, ExternalVariable external);

  [[nodiscard]] const std::string& name() const { return variable_.name(); }
  [[nodiscard]] const Variable& variable() const noexcept { return variable_; }
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }

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
  Shape shape_;
  std::function<std::span<std::byte>()> memory_;
  Layout layout_ = Layout::RowMajor;
  ExternalVariable external_;
  Tensor staging_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/loop/impl/variable_binding.ipp>
#endif
