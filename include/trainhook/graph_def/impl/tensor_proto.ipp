// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of tensor_proto.hpp.
#pragma once

#include <trainhook/graph_def/tensor_proto.hpp>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL void write_shape(WireWriter& writer, const PartialShape& shape) {
  if (!shape.has_rank()) return writer.add_bool(3, true);
  for (const std::int64_t dim : shape.dims()) {
    add_wire_message(writer, 2, [&](WireWriter& message) {
      if (dim != 0) message.add_int64(1, dim);
    });
  }
}

/// The first element as the one element of `int_val` and its kin; narrow unsigned and 16 bit floats as their bits.
template <class T>
void write_first_integer(WireWriter& writer, std::uint32_t tag, const Tensor& tensor) {
  std::int64_t value = 0;
  if constexpr (requires(const T& element) { element.bits; }) {
    value = tensor.data<T>().front().bits;
  } else {
    value =
        static_cast<std::int64_t>(tensor.data<T>().front());  // NOLINT(bugprone-signed-char-misuse): int8 is a number
  }
  writer.add_packed_int64(tag, &value, &value + 1);
}

/// The first element in the field of its dtype, which is that of all of them.
TRAINHOOK_DECL void write_first_element(WireWriter& writer, const Tensor& tensor) {
  const std::byte* const first = tensor.bytes().data();
  const auto* const floats = reinterpret_cast<const float*>(first);
  const auto* const doubles = reinterpret_cast<const double*>(first);
  switch (tensor.dtype()) {
    case DType::Float: return writer.add_packed_float(5, floats, floats + 1);
    case DType::Double: return writer.add_packed_double(6, doubles, doubles + 1);
    case DType::Int32: return write_first_integer<std::int32_t>(writer, 7, tensor);
    case DType::Int16: return write_first_integer<std::int16_t>(writer, 7, tensor);
    case DType::Int8: return write_first_integer<std::int8_t>(writer, 7, tensor);
    case DType::UInt8: return write_first_integer<std::uint8_t>(writer, 7, tensor);
    case DType::UInt16: return write_first_integer<std::uint16_t>(writer, 7, tensor);
    case DType::Complex64: return writer.add_packed_float(9, floats, floats + 2);
    case DType::Int64: return write_first_integer<std::int64_t>(writer, 10, tensor);
    case DType::Bool: return write_first_integer<bool>(writer, 11, tensor);
    case DType::Complex128: return writer.add_packed_double(12, doubles, doubles + 2);
    case DType::Half: return write_first_integer<Half>(writer, 13, tensor);
    case DType::BFloat16: return write_first_integer<BFloat16>(writer, 13, tensor);
    case DType::UInt32: return write_first_integer<std::uint32_t>(writer, 16, tensor);
    case DType::UInt64: return write_first_integer<std::uint64_t>(writer, 17, tensor);
    default: throw UnimplementedError("a tensor of {} cannot be written to a TensorProto", tensor.dtype());
  }
}

/// Whether all elements have the bits of the first.
TRAINHOOK_DECL bool is_constant_throughout(std::span<const std::byte> bytes, std::size_t element) {
  return std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(element), bytes.end(), bytes.begin());
}

TRAINHOOK_DECL void write_tensor(WireWriter& writer, const Tensor& tensor) {
  writer.add_enum(1, static_cast<std::int32_t>(tensor.dtype()));
  add_wire_message(writer, 2, [&](WireWriter& message) { write_shape(message, tensor.shape()); });
  if (tensor.num_elements() == 0) return;
  if (tensor.dtype() == DType::String) {
    for (const std::string& text : tensor.data<std::string>()) writer.add_bytes(8, text);
    return;
  }
  const std::span<const std::byte> bytes = tensor.bytes();
  if (is_constant_throughout(bytes, dtype_size(tensor.dtype()))) {
    write_first_element(writer, tensor);
  } else {
    writer.add_bytes(4, reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
}

}  // namespace trainhook::detail
