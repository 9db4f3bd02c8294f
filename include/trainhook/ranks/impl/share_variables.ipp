// SPDX-License-Identifier: Apache-2.0
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

inline constexpr std::size_t kMostBytes = std::size_t{16} << 20;  // of small variables in a message

inline void append_number(std::string& bytes, std::int64_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

inline std::int64_t take_number(std::string_view& bytes) {
  std::int64_t number = -1;
  std::memcpy(&number, bytes.data(), (std::min)(sizeof number, bytes.size()));
  bytes.remove_prefix((std::min)(sizeof number, bytes.size()));
  return number;
}

// The number of dimensions, the dimensions and the elements, after the size of all that.
inline void append_value(std::string& message, const Tensor& value) {
  const std::span<const std::int64_t> dims = value.shape().dims();
  const std::size_t size = sizeof(std::int64_t) * (1 + dims.size()) + value.bytes().size();
  message.reserve(message.size() + sizeof(std::int64_t) + size);
  append_number(message, static_cast<std::int64_t>(size));
  append_number(message, static_cast<std::int64_t>(dims.size()));
  for (const std::int64_t dim : dims) append_number(message, dim);
  message.append(reinterpret_cast<const char*>(value.bytes().data()), value.bytes().size());
}

// @throws InvalidArgumentError for bytes that are not a value of that variable.
inline Tensor value_in(std::string_view bytes, const StateSpec& variable) {
  const std::string_view all = bytes;
  const std::int64_t rank = take_number(bytes);
  std::vector<std::int64_t> dims;
  while (static_cast<std::int64_t>(dims.size()) < rank && !bytes.empty()) dims.push_back(take_number(bytes));
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
  std::vector<StateSpec> shared = session.state();
  std::erase_if(shared, [&](const StateSpec& spec) {
    return spec.kind != StateKind::Variable || spec.dtype == DType::String || slices.is_own(spec.name);
  });
  std::string message;  // of values; in place of one that is not initialized, a size of 0
  std::string_view rest;
  for (const StateSpec& spec : shared) {
    if (is_source) {
      if (spec.initialized) {
        append_value(message, session.snapshot(std::span(&spec.name, 1)).at(0).tensor);
      } else {
        append_number(message, 0);
      }
      if (message.size() >= kMostBytes || &spec == &shared.back())
        static_cast<void>(broadcast(std::exchange(message, {})));
      continue;
    }
    if (rest.empty()) rest = message = broadcast({});
    const auto size = static_cast<std::size_t>(take_number(rest));
    if (size > rest.size()) throw DataLossError("the value of '{}' did not come whole from rank 0", spec.name);
    const std::string_view bytes = rest.substr(0, size);
    rest.remove_prefix(size);
    if (bytes.empty()) continue;
    const NamedTensor value{.name = spec.name, .tensor = value_in(bytes, spec)};
    session.load(std::span(&value, 1));
  }
}

}  // namespace trainhook::detail
