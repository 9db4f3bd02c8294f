// SPDX-License-Identifier: Apache-2.0
/// @file
/// TensorProto and TensorShapeProto: how a GraphDef holds a value.
#pragma once

#include <bit>
#include <complex>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph_def/message_sinks.hpp>

namespace trainhook::detail {

static_assert(std::endian::native == std::endian::little,
              "tensors are written as they lie in memory, which the formats want little-endian");

/// TensorShapeProto: dim=2 {size=1}, unknown_rank=3.
template <class Sink>
void write_shape(Sink& sink, const PartialShape& shape) {
  if (!shape.has_rank()) {
    sink.boolean(3, "unknown_rank", true);
    return;
  }
  for (const std::int64_t dim : shape.dims()) {
    sink.message(2, "dim", [&](auto& message) {
      if (dim != 0) message.integer(1, "size", dim);
    });
  }
}

template <class Sink>
void write_dtype(Sink& sink, std::uint32_t tag, std::string_view name, DType dtype) {
  sink.enumerator(tag, name, static_cast<int>(dtype), dtype_proto_name(dtype));
}

/// Integers as the one element of `int_val` and its kin. Narrow unsigned and 16 bit floats go as their bits.
template <class Sink, class T>
void write_first_integer(Sink& sink, const Tensor& tensor, std::uint32_t tag, std::string_view name) {
  const std::int64_t value = static_cast<std::int64_t>(tensor.data<T>().front());
  sink.integers(tag, name, std::span(&value, 1));
}

/// The first element in the field of its dtype, which is that of all of them.
template <class Sink>
void write_first_element(Sink& sink, const Tensor& tensor) {
  const auto bits = [&](std::uint16_t value) {
    const std::int64_t wide = value;
    sink.integers(13, "half_val", std::span(&wide, 1));
  };
  switch (tensor.dtype()) {
    case DType::Float: return sink.reals(5, "float_val", tensor.data<float>().first(1));
    case DType::Double: return sink.reals(6, "double_val", tensor.data<double>().first(1));
    case DType::Int32: return write_first_integer<Sink, std::int32_t>(sink, tensor, 7, "int_val");
    case DType::Int16: return write_first_integer<Sink, std::int16_t>(sink, tensor, 7, "int_val");
    case DType::Int8: return write_first_integer<Sink, std::int8_t>(sink, tensor, 7, "int_val");
    case DType::UInt8: return write_first_integer<Sink, std::uint8_t>(sink, tensor, 7, "int_val");
    case DType::UInt16: return write_first_integer<Sink, std::uint16_t>(sink, tensor, 7, "int_val");
    case DType::Int64: return write_first_integer<Sink, std::int64_t>(sink, tensor, 10, "int64_val");
    case DType::UInt32: return write_first_integer<Sink, std::uint32_t>(sink, tensor, 16, "uint32_val");
    case DType::UInt64: return write_first_integer<Sink, std::uint64_t>(sink, tensor, 17, "uint64_val");
    case DType::Half: return bits(tensor.data<Half>().front().bits);
    case DType::BFloat16: return bits(tensor.data<BFloat16>().front().bits);
    case DType::Bool: {
      if constexpr (std::is_same_v<Sink, BinarySink>) {
        return write_first_integer<Sink, bool>(sink, tensor, 11, "bool_val");
      } else {
        return sink.boolean(11, "bool_val", tensor.data<bool>().front());
      }
    }
    case DType::Complex64: {
      const std::complex<float> value = tensor.data<std::complex<float>>().front();
      const float parts[] = {value.real(), value.imag()};
      return sink.reals(9, "scomplex_val", std::span<const float>(parts));
    }
    case DType::Complex128: {
      const std::complex<double> value = tensor.data<std::complex<double>>().front();
      const double parts[] = {value.real(), value.imag()};
      return sink.reals(12, "dcomplex_val", std::span<const double>(parts));
    }
    default: throw UnimplementedError("a tensor of {} cannot be written to a TensorProto", tensor.dtype());
  }
}

/// Whether all elements have the bits of the first.
TRAINHOOK_DECL bool is_constant_throughout(std::span<const std::byte> bytes, std::size_t element);

/// TensorProto: dtype=1, tensor_shape=2, tensor_content=4, the `_val` fields. What is the same throughout takes one
/// element, as TensorFlow has it.
template <class Sink>
void write_tensor(Sink& sink, const Tensor& tensor) {
  write_dtype(sink, 1, "dtype", tensor.dtype());
  sink.message(2, "tensor_shape", [&](auto& message) { write_shape(message, tensor.shape()); });
  if (tensor.num_elements() == 0) return;
  if (tensor.dtype() == DType::String) {
    for (const std::string& text : tensor.data<std::string>()) sink.bytes(8, "string_val", text);
    return;
  }
  const std::span<const std::byte> bytes = tensor.bytes();
  if (is_constant_throughout(bytes, dtype_size(tensor.dtype()))) {
    write_first_element(sink, tensor);
  } else {
    sink.bytes(4, "tensor_content", std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
}

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph_def/impl/tensor_proto.ipp>
#endif
