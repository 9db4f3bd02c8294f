// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/graph_def/tensor_proto.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

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

void FillBudget::take(std::uint64_t bytes, std::string_view what) {
  if (bytes > left_) {
    throw DataLossError("{} is damaged or of another format: its constants repeat one value over more than {} bytes",
                        what, kBytes);
  }
  left_ -= bytes;
}

DType read_dtype(std::uint64_t number, std::string_view what) {
  const std::uint64_t plain = number > 100 ? number - 100 : number;
  if (plain < 256 && find_dtype(static_cast<DType>(plain)) != nullptr) return static_cast<DType>(plain);
  const auto other = std::ranges::find(kOtherDTypes, plain, &OtherDType::number);
  if (other != kOtherDTypes.end()) throw UnimplementedError("{}: no tensor here can hold {}", what, other->name);
  throw UnimplementedError("{}: dtype number {} is not known here", what, number);
}

PartialShape read_shape(const TensorShapeMessage& message, std::string_view what) {
  const std::vector<std::int64_t> dims = dims_of(message);
  for (const std::int64_t size : dims) {
    if (size < kUnknownDim)
      throw DataLossError("{} is damaged or of another format: a shape has the dimension {}", what, size);
  }
  if (message.unknown_rank) return {};
  if (dims.size() > kMaxRank)
    throw UnimplementedError("{}: a shape has {} dimensions; at most {} can be held", what, dims.size(), kMaxRank);
  return PartialShape(std::span<const std::int64_t>(dims));
}

/// Makes the tensor of one message.
class TensorMaker {
 public:
  TensorMaker(const TensorMessage& message, std::string_view what, FillBudget& budget)
      : message_(message), what_(what), budget_(budget), shape_(read_shape(message.tensor_shape, what)) {}

  [[nodiscard]] Tensor make() {
    const DType dtype = read_dtype(message_.dtype, what_);
    if (!shape_.is_fully_known()) fail("a constant's shape is not fully known");
    std::int64_t count = 0;
    try {
      count = shape_.known().num_elements();
    } catch (const InvalidArgumentError&) { fail("a constant has more elements than 63 bits count"); }
    if (dtype == DType::String) return of_strings(static_cast<std::uint64_t>(count));
    std::uint64_t wanted = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(count), dtype_size(dtype), &wanted))
      fail("a constant is too large");
    return message_.tensor_content.empty() ? of_elements(dtype, wanted) : of_content(dtype, wanted);
  }

 private:
  [[noreturn]] void fail(std::string_view problem) const {
    throw DataLossError("{} is damaged or of another format: {}", what_, problem);
  }

  [[nodiscard]] Tensor of_strings(std::uint64_t count) {
    constexpr std::uint64_t kMostRepeatedStrings = 1U << 20U;
    const std::vector<std::string_view>& strings = message_.string_val;
    if (count < strings.size()) fail("a constant has more strings than elements");
    budget_.take((count - strings.size()) / 32, what_);
    if (count - strings.size() > kMostRepeatedStrings) fail("a constant repeats a string too often");
    Tensor tensor(DType::String, shape_.known());
    const std::span<std::string> elements = tensor.overwrite_data<std::string>();
    for (std::size_t i = 0; i < elements.size() && !strings.empty(); ++i)
      elements[i] = strings[(std::min)(i, strings.size() - 1)];
    return tensor;
  }

  [[nodiscard]] Tensor of_content(DType dtype, std::uint64_t wanted) const {
    const std::string_view content = message_.tensor_content;
    if (content.size() != wanted)
      fail(fmt::format("a constant {}{} has {} bytes of content", dtype, shape_, content.size()));
    Tensor tensor = Tensor::uninitialized(dtype, shape_.known());
    std::memcpy(tensor.overwrite_bytes().data(), content.data(), content.size());
    return tensor;
  }

  /// Fills a tensor with the elements that are given as numbers, then repeats the last one, or zero if there is none.
  [[nodiscard]] Tensor of_elements(DType dtype, std::uint64_t wanted) {
    append<float>(message_.float_val);
    append<double>(message_.double_val);
    append<float>(message_.scomplex_val);
    append<double>(message_.dcomplex_val);
    append_integers(dtype);
    const std::size_t size = dtype_size(dtype);
    if (elements_.size() % size != 0 || elements_.size() > wanted)
      fail(fmt::format("a constant {}{} has too many values, or a part of one", dtype, shape_));
    budget_.take(wanted - elements_.size(), what_);
    Tensor tensor(dtype, shape_.known());
    if (elements_.empty() || wanted == 0) return tensor;
    const std::span<std::byte> bytes = tensor.overwrite_bytes();
    std::memcpy(bytes.data(), elements_.data(), elements_.size());
    for (std::size_t at = elements_.size(); at < bytes.size(); at += size)
      std::memcpy(&bytes[at], &bytes[at - size], size);
    return tensor;
  }

  template <class T, class Values>
  void append(const Values& values) {
    for (const auto value : values) {
      const auto element = static_cast<T>(value);
      char bytes[sizeof element];
      std::memcpy(bytes, &element, sizeof element);
      elements_.append(bytes, sizeof element);
    }
  }

  /// The integers as elements of type `T`, from whichever field they are in.
  template <class T>
  void append_all_as() {
    append<T>(message_.int_val);
    append<T>(message_.int64_val);
    append<T>(message_.bool_val);
    append<T>(message_.half_val);
    append<T>(message_.uint32_val);
    append<T>(message_.uint64_val);
  }

  void append_integers(DType dtype) {
    const bool has_integers = !message_.int_val.empty() || !message_.int64_val.empty() || !message_.bool_val.empty() ||
                              !message_.half_val.empty() || !message_.uint32_val.empty() ||
                              !message_.uint64_val.empty();
    if (!has_integers) return;
    switch (dtype) {
      case DType::Bool: return append_all_as<bool>();
      case DType::Int8:
      case DType::UInt8: return append_all_as<std::uint8_t>();
      case DType::Int16:
      case DType::Half:
      case DType::BFloat16:
      case DType::UInt16: return append_all_as<std::uint16_t>();
      case DType::Int32:
      case DType::UInt32: return append_all_as<std::uint32_t>();
      case DType::Int64:
      case DType::UInt64: return append_all_as<std::uint64_t>();
      default: fail(fmt::format("a constant of {} is given as integers", dtype));
    }
  }

  const TensorMessage& message_;
  std::string_view what_;
  FillBudget& budget_;
  PartialShape shape_;
  std::string elements_;  // those given as numbers, in memory form
};

Tensor read_tensor(const TensorMessage& message, std::string_view what, FillBudget& budget) {
  return TensorMaker(message, what, budget).make();
}

}  // namespace trainhook::detail
