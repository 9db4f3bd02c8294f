// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/graph_def/tensor_proto.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>

namespace trainhook::detail {

TensorShapeMessage shape_message(const PartialShape& shape) {
  return shape.has_rank() ? shape_message(shape.dims()) : TensorShapeMessage{.unknown_rank = true};
}

/// The first element for `int_val` and its kin; 16 bit floats as their bits.
template <class T>
[[nodiscard]] std::int64_t first_integer(const Tensor& tensor) {
  if constexpr (requires(const T& element) { element.bits; }) {
    return tensor.data<T>().front().bits;
  } else {
    return static_cast<std::int64_t>(tensor.data<T>().front());  // NOLINT(bugprone-signed-char-misuse): a number
  }
}

/// Sets the field of the tensor's dtype to the first element, which is that of all of them.
inline void set_first_element(TensorMessage& message, const Tensor& tensor) {
  const std::byte* const first = tensor.bytes().data();
  const auto* const floats = reinterpret_cast<const float*>(first);
  const auto* const doubles = reinterpret_cast<const double*>(first);
  switch (tensor.dtype()) {
    case DType::Float: message.float_val.push_back(floats[0]); return;
    case DType::Double: message.double_val.push_back(doubles[0]); return;
    case DType::Int32: message.int_val.push_back(first_integer<std::int32_t>(tensor)); return;
    case DType::Int16: message.int_val.push_back(first_integer<std::int16_t>(tensor)); return;
    case DType::Int8: message.int_val.push_back(first_integer<std::int8_t>(tensor)); return;
    case DType::UInt8: message.int_val.push_back(first_integer<std::uint8_t>(tensor)); return;
    case DType::UInt16: message.int_val.push_back(first_integer<std::uint16_t>(tensor)); return;
    case DType::Complex64: message.scomplex_val = {floats[0], floats[1]}; return;
    case DType::Int64: message.int64_val.push_back(first_integer<std::int64_t>(tensor)); return;
    case DType::Bool: message.bool_val.push_back(tensor.data<bool>().front()); return;
    case DType::Complex128: message.dcomplex_val = {doubles[0], doubles[1]}; return;
    case DType::Half: message.half_val.push_back(first_integer<Half>(tensor)); return;
    case DType::BFloat16: message.half_val.push_back(first_integer<BFloat16>(tensor)); return;
    case DType::UInt32: message.uint32_val.push_back(tensor.data<std::uint32_t>().front()); return;
    case DType::UInt64: message.uint64_val.push_back(tensor.data<std::uint64_t>().front()); return;
    default: throw UnimplementedError("a tensor of {} cannot be written to a TensorProto", tensor.dtype());
  }
}

/// Whether all elements have the bits of the first.
inline bool is_constant_throughout(std::span<const std::byte> bytes, std::size_t element) {
  return std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(element), bytes.end(), bytes.begin());
}

std::string_view tensor_content(const Tensor& tensor) {
  if (tensor.dtype() == DType::String || tensor.num_elements() == 0) return {};
  const std::span<const std::byte> bytes = tensor.bytes();
  if (is_constant_throughout(bytes, dtype_size(tensor.dtype()))) return {};
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The message of a tensor without its elements.
inline TensorMessage empty_message(DType dtype, const Shape& shape) {
  return {.dtype = static_cast<std::uint64_t>(dtype), .tensor_shape = shape_message(shape.dims())};
}

TensorMessage tensor_message(const Tensor& tensor) {
  TensorMessage message = empty_message(tensor.dtype(), tensor.shape());
  if (tensor.num_elements() == 0) return message;
  if (tensor.dtype() == DType::String) {
    const std::span<const std::string> texts = tensor.data<std::string>();
    message.string_val.assign(texts.begin(), texts.end());
    return message;
  }
  message.tensor_content = tensor_content(tensor);
  if (message.tensor_content.empty()) set_first_element(message, tensor);
  return message;
}

TensorMessage zeros_message(DType dtype, const Shape& shape) {
  TensorMessage message = empty_message(dtype, shape);
  if (dtype == DType::String) {
    message.string_val.resize(static_cast<std::size_t>(shape.num_elements()));
  } else if (shape.num_elements() > 0) {
    set_first_element(message, Tensor(dtype, Shape{}));
  }
  return message;
}

}  // namespace trainhook::detail
