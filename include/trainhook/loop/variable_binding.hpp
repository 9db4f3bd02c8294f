// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a LoopSession knows of a variable: where its memory is, how it is read and written.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/loop/memory_layout.hpp>
#include <trainhook/loop/variable_memory.hpp>

namespace trainhook::detail {

/// The shape that the user wants for memory of `count` elements.
TRAINHOOK_DECL Shape resolve_shape(std::string_view name, const PartialShape& wanted, const Shape& natural);

/// @throws unless `value` may become the value of what is called `name`.
TRAINHOOK_DECL void check_value(const std::string& name, DType dtype, const PartialShape& shape, const Tensor& value);

/// A variable of a LoopSession. Reading goes through one staging tensor, whose buffer is used again when nobody else
/// holds it any more.
class VariableBinding {
 public:
  /// Memory that `memory()` finds, or throws where it is not what was registered.
  TRAINHOOK_DECL VariableBinding(const Variable& variable, std::function<std::span<std::byte>()> memory, Layout layout);
  TRAINHOOK_DECL VariableBinding(const Variable& variable, ExternalVariable external);

  [[nodiscard]] const std::string& name() const { return variable_.name(); }
  [[nodiscard]] const Variable& variable() const noexcept { return variable_; }
  [[nodiscard]] DType dtype() const { return variable_.dtype(); }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }

  /// Whether writing is code of the user's, which may throw.
  [[nodiscard]] bool is_external() const noexcept { return !memory_; }

  /// The present values.
  [[nodiscard]] TRAINHOOK_DECL Tensor read();

  /// @throws unless `write(value)` can be done.
  TRAINHOOK_DECL void check(const Tensor& value) const;

  TRAINHOOK_DECL void write(const Tensor& value);

  bool initialized = true;

 private:
  Variable variable_;
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
