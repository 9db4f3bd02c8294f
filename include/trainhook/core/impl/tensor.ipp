// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of tensor.hpp.
#pragma once

#include <trainhook/core/tensor.hpp>

#include <complex>

#include <fmt/core.h>

namespace trainhook::detail {

/// A tensor of more elements is elided.
inline constexpr std::int64_t kMostElementsInText = 16;

/// A string element shows this many characters.
inline constexpr std::size_t kMostCharactersInText = 40;

template <class T>
void append_element(std::string& text, const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    const bool is_long = value.size() > kMostCharactersInText;
    text += fmt::format("{:?}{}", std::string_view(value).substr(0, kMostCharactersInText), is_long ? "..." : "");
  } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    text += fmt::format("{}{:+}j", value.real(), value.imag());
  } else {
    text += fmt::format("{}", value);
  }
}

/// `shown` is how many elements each end of a dimension shows, 0 for all.
template <class T>
void append_elements(std::string& text, std::span<const T> elements, std::span<const std::int64_t> dims,
                     std::size_t shown) {
  if (dims.empty()) {
    append_element(text, elements[0]);
    return;
  }
  const auto count = static_cast<std::size_t>(dims[0]);
  const std::size_t stride = count == 0 ? 0 : elements.size() / count;
  text += '[';
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) text += ' ';
    if (shown > 0 && i == shown && count > 2 * shown) {
      text += "... ";
      i = count - shown;
    }
    append_elements(text, elements.subspan(i * stride, stride), dims.subspan(1), shown);
  }
  text += ']';
}

template <class T>
void append_elements(std::string& text, const Tensor& tensor) {
  const std::size_t rank = tensor.shape().rank();
  const std::size_t shown = tensor.num_elements() <= kMostElementsInText ? 0 : rank == 1 ? 3 : rank == 2 ? 2 : 1;
  append_elements(text, tensor.data<T>(), tensor.shape().dims(), shown);
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL std::string Tensor::to_string() const {
  using detail::append_elements;
  if (!has_value()) return "no value";
  std::string text = fmt::format("{}{} ", dtype_, shape_);
  switch (dtype_) {
    case DType::Float: append_elements<float>(text, *this); break;
    case DType::Double: append_elements<double>(text, *this); break;
    case DType::Half: append_elements<Half>(text, *this); break;
    case DType::BFloat16: append_elements<BFloat16>(text, *this); break;
    case DType::Int8: append_elements<std::int8_t>(text, *this); break;
    case DType::Int16: append_elements<std::int16_t>(text, *this); break;
    case DType::Int32: append_elements<std::int32_t>(text, *this); break;
    case DType::Int64: append_elements<std::int64_t>(text, *this); break;
    case DType::UInt8: append_elements<std::uint8_t>(text, *this); break;
    case DType::UInt16: append_elements<std::uint16_t>(text, *this); break;
    case DType::UInt32: append_elements<std::uint32_t>(text, *this); break;
    case DType::UInt64: append_elements<std::uint64_t>(text, *this); break;
    case DType::Bool: append_elements<bool>(text, *this); break;
    case DType::String: append_elements<std::string>(text, *this); break;
    case DType::Complex64: append_elements<std::complex<float>>(text, *this); break;
    case DType::Complex128: append_elements<std::complex<double>>(text, *this); break;
    case DType::Invalid: break;
  }
  return text;
}

}  // namespace trainhook
