// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of share_variables.hpp.
#pragma once

#include <trainhook/ranks/share_variables.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/checkpoint/variable_slices.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook::detail {

// The number of dimensions, the dimensions and the elements.
inline std::string value_bytes(const Tensor& value) {
  std::string bytes;
  const auto add = [&bytes](std::span<const std::byte> part) {
    bytes.append(reinterpret_cast<const char*>(part.data()), part.size());
  };
  const auto rank = static_cast<std::int64_t>(value.shape().rank());
  add(std::as_bytes(std::span(&rank, 1)));
  add(std::as_bytes(value.shape().dims()));
  add(value.bytes());
  return bytes;
}

// @throws InvalidArgumentError for bytes that are not a value of that variable.
inline Tensor value_in(std::string_view bytes, const StateSpec& variable) {
  const std::string_view all = bytes;
  const auto take = [&] {
    std::int64_t number = -1;
    std::memcpy(&number, bytes.data(), (std::min)(sizeof number, bytes.size()));
    bytes.remove_prefix((std::min)(sizeof number, bytes.size()));
    return number;
  };
  const std::int64_t rank = take();
  std::vector<std::int64_t> dims;
  while (static_cast<std::int64_t>(dims.size()) < rank && !bytes.empty()) dims.push_back(take());
  const Shape shape(dims);
  const std::uint64_t size = dtype_size(variable.dtype);
  if (static_cast<std::int64_t>(shape.rank()) != rank || !variable.shape.compatible_with(shape) ||
      bytes.size() % size != 0 || bytes.size() / size != static_cast<std::uint64_t>(shape.num_elements())) {
    throw InvalidArgumentError(
        "the variable '{}' is {}{} on this rank, and what came is {} bytes of shape {}: all ranks must have the same "
        "variables",
        variable.name, variable.dtype, variable.shape, all.size(), shape);
  }
  Tensor value = Tensor::uninitialized(variable.dtype, shape);
  std::ranges::copy(std::as_bytes(std::span(bytes)), value.overwrite_bytes().begin());
  return value;
}

void share_variables(SessionRef session, bool is_source, FunctionRef<std::string(std::string)> broadcast) {
  const VariableSlices slices(session.graph());
  for (const StateSpec& spec : session.state()) {
    if (spec.kind != StateKind::Variable || spec.dtype == DType::String || slices.is_own(spec.name)) continue;
    std::string bytes;
    if (is_source && spec.initialized) bytes = value_bytes(session.snapshot(std::span(&spec.name, 1)).at(0).tensor);
    bytes = broadcast(std::move(bytes));
    if (is_source || bytes.empty()) continue;
    const NamedTensor value{.name = spec.name, .tensor = value_in(bytes, spec)};
    session.load(std::span(&value, 1));
  }
}

}  // namespace trainhook::detail
