// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/loop/variable_binding.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include <trainhook/core/user_call.hpp>

namespace trainhook::detail {

Shape resolve_shape(std::string_view name, const PartialShape& wanted, const Shape& natural) {
  if (!wanted.has_rank()) return natural;
  const std::int64_t count = natural.num_elements();
  std::vector<std::int64_t> dims(wanted.dims().begin(), wanted.dims().end());
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
  return Shape(std::span<const std::int64_t>(dims));
}

void check_value(const std::string& name, DType dtype, const PartialShape& shape, const Tensor& value) {
  if (value.dtype() != dtype || !shape.compatible_with(value.shape())) {
    throw InvalidArgumentError("'{}' is {}{} and cannot take {}{}", name, dtype, shape, value.dtype(), value.shape());
  }
  if (dtype == DType::Bool && std::ranges::any_of(value.bytes(), [](std::byte item) { return item > std::byte{1}; })) {
    throw DataLossError("'{}': a truth value is neither 0 nor 1", name);
  }
}

VariableBinding::VariableBinding(const Variable& variable, std::function<std::span<std::byte>()> memory, Layout layout)
    : variable_(variable),
      dtype_(variable.dtype()),
      shape_(variable.shape().known()),
      memory_(std::move(memory)),
      layout_(layout) {}

VariableBinding::VariableBinding(const Variable& variable, ExternalVariable external)
    : variable_(variable), dtype_(variable.dtype()), shape_(variable.shape().known()), external_(std::move(external)) {}

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
  return {.dtype = dtype(), .shape = shape_, .bytes = memory_()};
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
  std::span<const std::byte> memory;
  if (memory_) memory = memory_();
  target.reset_to(dtype(), shape_);
  if (memory_) {
    to_row_major(memory, layout_, shape_, target.overwrite_bytes());
  } else {
    call_of_user("the read function of variable", name(), [&] { external_.read(target.overwrite_bytes()); });
  }
}

void VariableBinding::validate(const Tensor& value) const {
  check_value(name(), dtype(), shape_, value);
  if (memory_) (void)memory_();
}

void VariableBinding::write(const Tensor& value) {
  if (memory_) {
    from_row_major(value.bytes(), layout_, shape_, memory_());
  } else {
    call_of_user("the write function of variable", name(), [&] { external_.write(value.bytes()); });
  }
  initialized = true;
}

void VariableBinding::fill(FillMemory fill) {
  fill(name(), memory_());
  initialized = true;
}

}  // namespace trainhook::detail
