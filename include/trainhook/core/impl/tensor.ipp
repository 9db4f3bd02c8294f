// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/core/tensor.hpp>

#include <algorithm>
#include <complex>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>

namespace trainhook::detail {

/// A tensor of more elements is elided.
inline constexpr std::int64_t kMostElementsInText = 16;

/// A string element shows this many characters.
inline constexpr std::size_t kMostCharactersInText = 40;

template <class T>
void append_element_text(std::string& text, const T& value) {
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
    append_element_text(text, elements[0]);
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

Tensor::Tensor(DType dtype, const Shape& shape) : Tensor(uninitialized(dtype, shape)) {
  if (dtype != DType::String) std::ranges::fill(raw_bytes(), std::byte{0});
}

Tensor::Tensor(std::string_view value) : Tensor(DType::String, Shape{}) { buffer_.strings()[0] = value; }

Tensor Tensor::reshaped(const Shape& shape) const {
  if (shape.num_elements() != num_elements()) throw InvalidArgumentError("shape {} cannot become {}", shape_, shape);
  if (shape == shape_) return *this;
  Tensor result;
  result.dtype_ = dtype_;
  result.shape_ = shape;
  if (!is_inline() && !result.is_inline()) {
    result.buffer_ = buffer_;
  } else {  // between a boxed single element and one inside the handle
    if (!result.is_inline()) result.buffer_ = result.new_buffer();
    std::memcpy(result.raw(), raw(), byte_size());
  }
  return result;
}

std::string Tensor::to_string() const {
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

void Tensor::replace_buffer(bool keep_elements) {
  detail::Buffer fresh = new_buffer();
  if (keep_elements) {
    if (dtype_ == DType::String) {
      std::ranges::copy(buffer_.strings(), fresh.strings().begin());
    } else {
      std::memcpy(fresh.bytes(), buffer_.bytes(), byte_size());
    }
  }
  buffer_ = std::move(fresh);
}

bool Tensor::equals(const Tensor& other) const {
  if (dtype_ != other.dtype_ || shape_ != other.shape_) return false;
  if (dtype_ == DType::String) return std::ranges::equal(data<std::string>(), other.data<std::string>());
  return byte_size() == 0 || std::memcmp(raw(), other.raw(), byte_size()) == 0;
}

void Tensor::throw_no_dtype() { throw InvalidArgumentError("a tensor needs a dtype that it can hold"); }

void Tensor::throw_count(std::size_t count, const Shape& shape) {
  throw InvalidArgumentError("{} values do not fill shape {}", count, shape);
}

void Tensor::throw_too_large(DType dtype, const Shape& shape) {
  throw ResourceExhaustedError("no memory for a tensor {}{}", dtype, shape);
}

void Tensor::throw_dtype(DType wanted) const {
  throw InvalidArgumentError("the tensor holds {}, not {}", dtype_, wanted);
}

void Tensor::throw_no_bytes() const {
  throw InvalidArgumentError("a string tensor has no flat bytes; use data<std::string>()");
}

void Tensor::throw_not_single() const {
  throw InvalidArgumentError("a tensor of shape {} is not a single value", shape_);
}

}  // namespace trainhook
