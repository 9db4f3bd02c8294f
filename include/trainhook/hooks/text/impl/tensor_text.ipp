// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/text/tensor_text.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <fmt/format.h>

#include <trainhook/core/real_numbers.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/utf8.hpp>
#include <trainhook/hooks/text/numpy_number.hpp>

namespace trainhook::detail {

/// Elements that a line shows; of a longer tensor the first ones are followed by `...`.
inline constexpr std::size_t kFirstElementsInText = 32;

/// Numbers as NumPy prints scalars; NumPy has no bfloat16.
template <class T>
void append_text_element(std::string& text, const T& value) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    const std::string imaginary = numpy_scalar(NumpyNumber(value.imag()));
    text += fmt::format("{}{}{}j", numpy_scalar(NumpyNumber(value.real())), imaginary[0] == '-' ? "" : "+", imaginary);
  } else if constexpr (std::is_same_v<T, std::string>) {
    text.append(1, '\'').append(value).append(1, '\'');
  } else if constexpr (std::is_floating_point_v<T> || StoredFloat<T>) {
    text += numpy_scalar(NumpyNumber(value));
  } else {
    text += fmt::format("{}", value);
  }
}

template <class T>
void append_text_elements(std::string& text, std::span<const T> elements, std::span<const std::int64_t> dims,
                          std::size_t& room) {
  if (dims.empty()) {
    append_text_element(text, elements[0]);
    --room;
    return;
  }
  const auto count = static_cast<std::size_t>(dims[0]);
  const std::size_t stride = count == 0 ? 0 : elements.size() / count;
  text += '[';
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) text += ' ';
    if (room == 0) {
      text += "...";
      break;
    }
    append_text_elements(text, elements.subspan(i * stride, stride), dims.subspan(1), room);
  }
  text += ']';
}

std::string tensor_text(const Tensor& tensor) {
  const auto text_of = [&tensor](auto elements) {
    std::string text;
    std::size_t room = kFirstElementsInText;
    append_text_elements(text, elements, tensor.shape().dims(), room);
    return text;
  };
  switch (tensor.dtype()) {
    case DType::String: return text_of(tensor.data<std::string>());
    case DType::Complex64: return text_of(tensor.data<std::complex<float>>());
    case DType::Complex128: return text_of(tensor.data<std::complex<double>>());
    case DType::Invalid: return "none";
    default: return visit_real(tensor, text_of);
  }
}

std::string json_string(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string json = "\"";
  for (const char c : utf8_text(text, "a text in JSON")) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      json.append({'\\', c});
    } else if (code < 0x20) {
      json.append("\\u00").append({kHex[code >> 4], kHex[code & 15]});
    } else {
      json += c;
    }
  }
  return json += '"';
}

}  // namespace trainhook::detail
