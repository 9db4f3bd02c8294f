// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of histogram_source.hpp.
#pragma once

#include <trainhook/events/histogram_source.hpp>

#include <cstdint>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>

namespace trainhook::detail {

/// Calls `visit` with the elements of `tensor` as a span.
template <class Visit>
auto visit_histogram_values(std::string_view tag, const Tensor& tensor, const Visit& visit) {
  switch (tensor.dtype()) {
    case DType::Float: return visit(tensor.data<float>());
    case DType::Double: return visit(tensor.data<double>());
    case DType::Int32: return visit(tensor.data<std::int32_t>());
    case DType::Int64: return visit(tensor.data<std::int64_t>());
    case DType::Int16: return visit(tensor.data<std::int16_t>());
    case DType::Int8: return visit(tensor.data<std::int8_t>());
    case DType::UInt8: return visit(tensor.data<std::uint8_t>());
    case DType::UInt16: return visit(tensor.data<std::uint16_t>());
    case DType::UInt32: return visit(tensor.data<std::uint32_t>());
    case DType::UInt64: return visit(tensor.data<std::uint64_t>());
    default:
      throw InvalidArgumentError("histogram {} cannot count {} elements; give it real numbers", tag, tensor.dtype());
  }
}

TRAINHOOK_DECL HistogramSource histogram_source(std::string_view tag, const Tensor& tensor) {
  return visit_histogram_values(tag, tensor, [](auto values) { return histogram_source(values); });
}

TRAINHOOK_DECL float first_as_float(std::string_view tag, const Tensor& tensor) {
  return visit_histogram_values(tag, tensor, [](auto values) { return static_cast<float>(values[0]); });
}

}  // namespace trainhook::detail
